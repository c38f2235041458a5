/* The status that NCCL writes for people, line by line. */
#include "base/text.h"
#include "base/attr.h"
#include "formats/ras/ras.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LINE_BYTES 512

/* Where in the text a line is. */
struct ras_place {
        uint64_t communicator;
        enum ras_trouble trouble; /* of the ranks and processes that are listed */
        double value;             /* of the ranks that follow, where one line says it for all */
        bool has_value;
        char error[RAS_TEXT_MAX];
        size_t first; /* of this communicator's entries in the report */
        double most;  /* collectives that some rank of it has begun */
};

/* "Rank 3", then what of it, then " -- GPU 1 managed by process 4711 on node HOST". */
static void take_process(const char *line, struct ras_rank *r)
{
        const char *process = strstr(line, "process "), *node = strstr(line, " on node ");
        if (!process)
                process = strstr(line, "Process ");
        long pid = process ? strtol(process + strlen("process "), NULL, 10) : 0;
        r->pid = pid > 0 && pid <= INT32_MAX ? (int32_t)pid : 0;
        if (!node)
                return;
        node += strlen(" on node ");
        size_t n = strcspn(node, " ");
        snprintf(r->host, sizeof(r->host), "%.*s", (int)MIN(n, sizeof(r->host) - 1), node);
        text_clean(r->host);
}

static bool take_number(const char *line, const char *words, double *ret)
{
        const char *at = strstr(line, words);
        if (!at)
                return false;
        at += strlen(words);
        char *end;
        unsigned long long v = strtoull(at, &end, 10);
        if (end == at || *at == '-' || v > RAS_COUNT_MAX)
                return false;
        *ret = (double)v;
        return true;
}

/* What a line says of the count or the error of one rank, or of several. */
static void take_state(const char *line, struct ras_place *p)
{
        static const char reported[] = " reported ";
        const char *said = strstr(line, reported);
        double v;
        if (take_number(line, "launched up to operation ", &v)) {
                p->value = v;
                p->has_value = true;
        } else if (strstr(line, "not launched any operations")) {
                p->value = 0;
                p->has_value = true;
        }
        if (p->has_value)
                p->most = MAX(p->most, p->value);
        if (!said)
                return;
        said += strlen(reported);
        const char *end = strstr(said, " -- ");
        snprintf(p->error, sizeof(p->error), "%.*s", end ? (int)MIN(end - said, 100) : 100, said);
        text_clean(p->error);
}

static int add_listed(struct ras_report *ret, const char *line, const struct ras_place *p)
{
        double number;
        if (p->trouble == RAS_FINE || ret->n >= RAS_RANKS_MAX)
                return 0;
        struct ras_rank *r = ras_report_add(ret);
        if (!r)
                return -ENOMEM;
        r->communicator = p->communicator;
        r->trouble = (uint8_t)p->trouble;
        if (take_number(line, "Rank ", &number) && number <= INT32_MAX)
                r->rank = value_ok(number);
        if (p->trouble == RAS_BEHIND && p->has_value)
                r->count = value_ok(p->value);
        if (p->trouble == RAS_ERROR)
                snprintf(r->text, sizeof(r->text), "%s", p->error);
        take_process(line, r);
        return 0;
}

/* Ranks that have begun as many as any are not behind. */
static void end_communicator(struct ras_report *ret, struct ras_place *p)
{
        size_t n = p->first;
        for (size_t i = p->first; i < ret->n; i++) {
                struct ras_rank r = ret->ranks[i];
                if (r.trouble == RAS_BEHIND && (!value_is_set(r.count) || r.count.v >= p->most))
                        continue;
                if (r.trouble == RAS_BEHIND)
                        r.most = value_ok(p->most);
                ret->ranks[n++] = r;
        }
        ret->n = n;
        p->first = n;
        p->most = 0;
        p->has_value = false;
}

/* "#0-1 (0123456789abcdef) MISMATCH" and the sections that are not of one communicator. */
static bool read_heading(const char *line, struct ras_report *ret, struct ras_place *p)
{
        static const struct {
                const char *word;
                enum ras_trouble trouble;
        } words[] = {{"INCOMPLETE", RAS_MISSING}, {"DEAD", RAS_DEAD},    {"ERROR", RAS_ERROR},
                     {"MISMATCH", RAS_BEHIND},    {"TIMEOUT", RAS_FINE}, {"Warnings", RAS_FINE},
                     {"Errors", RAS_FINE}};
        const char *bracket = line[0] == '#' ? strchr(line, '(') : NULL;
        const char *last = line[0] == '#' ? strrchr(line, ' ') : NULL;
        const char *word = last ? last + 1 : line;
        for (size_t i = 0; i < ARRAY_LEN(words); i++) {
                if (strcmp(word, words[i].word) != 0)
                        continue;
                end_communicator(ret, p);
                p->trouble = words[i].trouble;
                p->communicator = bracket ? strtoull(bracket + 1, NULL, 16) : 0;
                p->error[0] = '\0';
                return true;
        }
        return false;
}

static int read_status_line(const char *line, struct ras_report *ret, struct ras_place *p)
{
        static const char version[] = "NCCL version ";
        if (strncmp(line, version, strlen(version)) == 0) {
                snprintf(ret->version, sizeof(ret->version), "%.*s",
                         (int)MIN(strcspn(line + strlen(version), " "), (size_t)31),
                         line + strlen(version));
                text_clean(ret->version);
                return 0;
        }
        if (read_heading(line, ret, p))
                return 0;
        if (strstr(line, "operation counts"))
                p->has_value = false;
        take_state(line, p);
        bool listed = strncmp(line, "  Rank ", 7) == 0 || strncmp(line, "  Process ", 10) == 0;
        return listed ? add_listed(ret, line, p) : 0;
}

int ras_parse_text(const char *text, size_t n, struct ras_report *ret, struct err *err)
{
        struct ras_place p = {0};
        const char *end = text + n;
        int r = 0;
        while (r == 0 && text < end) {
                char line[LINE_BYTES];
                const char *stop = memchr(text, '\n', (size_t)(end - text));
                size_t len = (size_t)((stop ? stop : end) - text);
                snprintf(line, sizeof(line), "%.*s", (int)MIN(len, sizeof(line) - 1), text);
                r = read_status_line(line, ret, &p);
                text = stop ? stop + 1 : end;
        }
        end_communicator(ret, &p);
        if (r == 0 && ret->version[0] == '\0')
                r = err_set(err, ERR_DATA, "its answer is no status of NCCL");
        return r;
}
