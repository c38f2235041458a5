#include "cmd/idle_digest.h"

#include "base/clock.h"
#include "base/jsonw.h"
#include "life/helper.h"
#include "model/integral.h"
#include "present/format.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define SECONDS_PER_HOUR 3600.0
#define DIGEST_JOBS_MAX 50
#define MAIL_BYTES_MAX 49152 /* what a pipe takes without waiting */
#define NAME_LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-"

static const char *text_of(const struct doc_cell *row, enum fleet_idle_column column)
{
        return row[column].text ? row[column].text : "";
}

bool idle_is_slurm_job(const struct doc_cell *row)
{
        const char *job = text_of(row, IDLE_JOB);
        size_t n = strspn(job, "0123456789_");
        return strcmp(text_of(row, IDLE_KIND), "slurm") == 0 && n > 0 && job[n] == '\0' &&
               job[0] != '_';
}

static void put_job(struct strbuf *out, const struct doc_cell *row)
{
        enum idle_reason reason = idle_reason_find(text_of(row, IDLE_REASON));
        double gpus = value_or(row[IDLE_GPUS].v, 0);
        strbuf_putf(out, "  %s on %.120s: %.0f GPU%s, %.2f of %.2f GPU-hours idle%s%s\n",
                    text_of(row, IDLE_JOB), text_of(row, IDLE_NODES), gpus, gpus == 1 ? "" : "s",
                    value_or(row[IDLE_WASTED].v, 0) / SECONDS_PER_HOUR,
                    value_or(row[IDLE_HELD].v, 0) / SECONDS_PER_HOUR,
                    reason < IDLE_REASON_COUNT ? ", mostly: " : "",
                    reason < IDLE_REASON_COUNT ? idle_reason_words(reason) : "");
}

void idle_digest_text(const struct idle_digest *d, const struct idle_way *way, struct strbuf *out)
{
        char grace[FORMAT_MAX];
        format_length(grace, sizeof(grace), clock_to_seconds(way->grace_ns));
        strbuf_putf(out, "%zu job%s of %s hold%s GPUs and left them idle during the last %s:\n\n",
                    d->n, d->n == 1 ? "" : "s", d->user, d->n == 1 ? "s" : "", grace);
        for (size_t i = 0; i < MIN(d->n, (size_t)DIGEST_JOBS_MAX); i++)
                put_job(out, d->rows[i]);
        if (d->n > DIGEST_JOBS_MAX)
                strbuf_putf(out, "  and %zu more\n", d->n - DIGEST_JOBS_MAX);
        strbuf_puts(out, "\nNothing was cancelled. A job that is no longer needed:\n\n");
        for (size_t i = 0; i < MIN(d->n, (size_t)DIGEST_JOBS_MAX); i++) {
                if (idle_is_slurm_job(d->rows[i]))
                        strbuf_putf(out, "  scancel %s\n", text_of(d->rows[i], IDLE_JOB));
                else
                        strbuf_putf(out, "  %s\n", text_of(d->rows[i], IDLE_JOB));
        }
}

bool idle_digest_address(const struct idle_digest *d, const struct idle_way *way, char *ret,
                         size_t size)
{
        size_t n = strspn(d->user, NAME_LETTERS);
        if (n == 0 || d->user[n] != '\0' || d->user[0] == '-' || d->user[0] == '.')
                return false;
        return snprintf(ret, size, "%s%s%s", d->user, way->domain ? "@" : "",
                        way->domain ? way->domain : "") < (int)size;
}

static int run_sendmail(const char *address, struct strbuf *message, struct err *err)
{
        static const struct helper_limits limits = {60 * NS_PER_S, 65536, -1};
        char program[PATH_MAX];
        const char *argv[] = {program, "-i", "--", address, NULL};
        struct helper c = HELPER_NONE;
        struct strbuf out = {0}, said = {0};
        int r = helper_find("sendmail", helper_path(), program, sizeof(program)) ? 0 : -ENOENT;
        if (r == 0)
                r = helper_start(&c, argv, &(struct helper_options){.talks = true});
        if (r == 0) {
                r = helper_write(&c, strbuf_str(message), message->len) ? 0 : -EPIPE;
                close(c.in_fd);
                c.in_fd = -1;
                int code = helper_collect(&c, &limits, &out, &said);
                r = r < 0 ? r : code;
                if (r == 0 && helper_finish(&c) != 0)
                        r = -EIO;
                helper_stop(&c);
        }
        strbuf_finish(&out);
        strbuf_finish(&said);
        if (r == 0)
                return 0;
        err_set(err, r, "sendmail did not take the mail to '%s': %s", address,
                r == -EIO ? "it failed" : strerror(-r));
        return err_hint(err, "a mail server's package brings sendmail; a web hook needs none");
}

static int send_mail(const struct idle_digest *d, const struct idle_way *way, struct err *err)
{
        struct strbuf message = {0};
        char address[512];
        if (!idle_digest_address(d, way, address, sizeof(address)))
                return err_set(err, ERR_DATA, "'%s' is no user that mail can go to", d->user);
        strbuf_putf(&message,
                    "To: %s\nSubject: GPUs held and idle: %zu job%s\nAuto-Submitted: "
                    "auto-generated\nMIME-Version: 1.0\nContent-Type: text/plain; "
                    "charset=utf-8\n\n",
                    address, d->n, d->n == 1 ? "" : "s");
        idle_digest_text(d, way, &message);
        message.len = MIN(message.len, (size_t)MAIL_BYTES_MAX);
        int r = message.failed ? err_set(err, -ENOMEM, "out of memory")
                               : run_sendmail(address, &message, err);
        strbuf_finish(&message);
        return r;
}

static int send_hook(const struct idle_digest *d, const struct idle_way *way, struct err *err)
{
        struct strbuf text = {0}, body = {0};
        struct jsonw j = {.out = &body};
        idle_digest_text(d, way, &text);
        jsonw_object(&j, NULL);
        jsonw_text(&j, "text", strbuf_str(&text));
        jsonw_text(&j, "user", d->user);
        jsonw_array(&j, "jobs");
        for (size_t i = 0; i < d->n; i++) {
                const struct doc_cell *row = d->rows[i];
                jsonw_object(&j, NULL);
                jsonw_text(&j, "job", text_of(row, IDLE_JOB));
                jsonw_text(&j, "nodes", text_of(row, IDLE_NODES));
                jsonw_text(&j, "cluster", text_of(row, IDLE_CLUSTER));
                jsonw_number(&j, "gpus", value_or_nan(row[IDLE_GPUS].v));
                jsonw_number(&j, "held_seconds", value_or_nan(row[IDLE_HELD].v));
                jsonw_number(&j, "wasted_seconds", value_or_nan(row[IDLE_WASTED].v));
                jsonw_text(&j, "reason", text_of(row, IDLE_REASON));
                jsonw_end(&j);
        }
        jsonw_end(&j);
        jsonw_end(&j);
        int r = body.failed ? err_set(err, -ENOMEM, "out of memory")
                            : fleet_post_json(way->to, way->token_file, way->timeout_ns,
                                              strbuf_str(&body), err);
        strbuf_finish(&text);
        strbuf_finish(&body);
        return r;
}

int idle_digest_send(const struct idle_digest *d, const struct idle_way *way, struct err *err)
{
        return strcmp(way->to, "mail") == 0 ? send_mail(d, way, err) : send_hook(d, way, err);
}
