#include "cmd/serve_log.h"

#include "base/clock.h"
#include "base/jsonw.h"
#include "base/text.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define PATIENCE_MS 100

static const char *const formats[] = {
    [LOG_TEXT] = "text", [LOG_LOGFMT] = "logfmt", [LOG_JSON] = "json"};
static const char *const levels[] = {
    [LOG_INFO] = "info", [LOG_WARN] = "warn", [LOG_ERROR] = "error"};

enum log_format log_format_find(const char *name)
{
        for (size_t i = 0; name && i < ARRAY_LEN(formats); i++) {
                if (strcmp(formats[i], name) == 0)
                        return (enum log_format)i;
        }
        return LOG_TEXT;
}

/* RFC 3339, UTC, milliseconds. */
static void put_time(int64_t wall_ns, char *ret, size_t size)
{
        time_t seconds = (time_t)(wall_ns / NS_PER_S);
        struct tm tm;
        char text[32] = "";
        if (gmtime_r(&seconds, &tm))
                strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &tm);
        snprintf(ret, size, "%s.%03dZ", text, (int)(wall_ns % NS_PER_S / NS_PER_MS));
}

/* JSON's quotes are logfmt's. */
static void put_logfmt(const struct log_line *line, const char *time, struct strbuf *out)
{
        strbuf_putf(out, "time=%s level=%s event=%s", time, levels[line->level], line->event);
        if (line->gpu[0]) {
                strbuf_puts(out, " gpu=");
                json_put_string(out, line->gpu);
        }
        strbuf_puts(out, " msg=");
        json_put_string(out, line->text);
}

static void put_json(const struct log_line *line, const char *time, struct strbuf *out)
{
        struct jsonw j = {.out = out};
        jsonw_object(&j, NULL);
        jsonw_text(&j, "time", time);
        jsonw_text(&j, "level", levels[line->level]);
        jsonw_text(&j, "event", line->event);
        if (line->gpu[0])
                jsonw_text(&j, "gpu", line->gpu);
        jsonw_text(&j, "msg", line->text);
        jsonw_end(&j);
}

static void log_put_text(const struct log_line *line, struct strbuf *out)
{
        char text[2048];
        snprintf(text, sizeof(text), "%s%s%s%.*s", line->gpu[0] ? "GPU " : "", line->gpu,
                 line->gpu[0] ? ": " : "", (int)sizeof(text) / 2, line->text);
        text_clean(text);
        strbuf_putf(out, "assay: %s", text);
}

/* One line, with its end. Everything from outside stays inside its quotes. */
static void log_put(enum log_format format, const struct log_line *line, struct strbuf *out)
{
        char time[48];
        put_time(line->wall_ns, time, sizeof(time));
        switch (format) {
        case LOG_TEXT:
                log_put_text(line, out);
                break;
        case LOG_LOGFMT:
                put_logfmt(line, time, out);
                break;
        case LOG_JSON:
                put_json(line, time, out);
                break;
        }
        strbuf_putc(out, '\n');
}

/* Nobody waits for a reader that does not read: the line is lost then. A pipe takes lines below 4
 * KiB whole. */
void log_write(enum log_format format, const struct log_line *line)
{
        struct strbuf out = {0};
        struct pollfd fd = {.fd = STDERR_FILENO, .events = POLLOUT};
        log_put(format, line, &out);
        if (!out.failed && poll(&fd, 1, PATIENCE_MS) > 0) {
                ssize_t n = write(STDERR_FILENO, out.s, out.len);
                (void)n;
        }
        strbuf_finish(&out);
}
