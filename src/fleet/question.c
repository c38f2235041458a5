#include "fleet/question.h"

#include "base/clock.h"
#include "base/text.h"
#include "net/ask.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define QUESTIONS_MAX 24

int fleet_open(const struct fleet_config *config, struct fleet **ret, struct err *err)
{
        const struct ask_config ac = {.base = config->engine,
                                      .token_file = config->token_file,
                                      .tenant = config->tenant,
                                      .timeout_ns = config->timeout_ns,
                                      .wake = config->wake};
        struct fleet *f = calloc(1, sizeof(*f));
        if (!f)
                return err_set(err, -ENOMEM, "out of memory");
        f->config = *config;
        int r = ask_open(&ac, &f->ask, err);
        if (r < 0) {
                free(f);
                return r;
        }
        *ret = f;
        return 0;
}

void fleet_close(struct fleet *f)
{
        if (!f)
                return;
        ask_close(f->ask);
        free(f);
}

static void write_form(const struct fleet *f, const struct question *q,
                       const struct query_terms *terms, int64_t at_s, struct strbuf *form)
{
        struct strbuf text = {0};
        char number[32];
        query_write(q->query, q->terms ? q->terms : terms, &text);
        ask_put_field(form, "query", strbuf_str(&text));
        snprintf(number, sizeof(number), "%lld", (long long)at_s);
        ask_put_field(form, "time", number);
        snprintf(number, sizeof(number), "%llds", (long long)(f->config.timeout_ns / NS_PER_S));
        ask_put_field(form, "timeout", number);
        strbuf_finish(&text);
}

/* What a proxy or another server says in its own words is not shown, only that it did. */
static int explain_status(const struct fleet *f, long status, struct err *err)
{
        err_set(err, ERR_NO_SOURCE, "cannot ask '%s': the server answers %ld", ask_shown(f->ask),
                status);
        if (status == 401 || status == 403)
                return err_hint(err, "it wants to know who asks: give a token with --token-file, "
                                     "or http://user:password@HOST…; Mimir wants a --tenant");
        if (status == 404)
                return err_hint(err, "--engine wants the base address, below which /api/v1/query "
                                     "is: http://HOST:9090, http://HOST/select/0/prometheus");
        if (status >= 300 && status < 400)
                return err_hint(err, "redirects are not followed: give the address it points to");
        return err_hint(err, "look at the engine's log");
}

static int take_answer(const struct fleet *f, struct query_request *r, struct question *q,
                       struct err *err)
{
        int code =
            answer_parse(strbuf_str(&r->body), r->body.len, ask_shown(f->ask), &q->answer, err);
        bool fine = r->status >= 200 && r->status < 300;
        if (code == ERR_DATA && !fine)
                return explain_status(f, r->status, err);
        text_clean(err->msg);
        return code;
}

int question_send(struct fleet *f, const struct query_terms *terms, int64_t at_s,
                  struct question *q, size_t n, struct err *err)
{
        struct query_request requests[QUESTIONS_MAX] = {0};
        struct strbuf forms[QUESTIONS_MAX] = {0};
        n = MIN(n, (size_t)QUESTIONS_MAX);
        for (size_t i = 0; i < n; i++) {
                write_form(f, &q[i], terms, at_s, &forms[i]);
                requests[i] =
                    (struct query_request){.path = "/api/v1/query", .form = strbuf_str(&forms[i])};
        }
        f->asked += (int64_t)n;
        int r = probe_all(f->ask, requests, n, err);
        for (size_t i = 0; i < n; i++) {
                int code = r > 0 ? take_answer(f, &requests[i], &q[i], err) : r;
                r = code < 0 ? code : r;
                strbuf_finish(&requests[i].body);
                strbuf_finish(&forms[i]);
        }
        return r;
}

void question_finish(struct question *q, size_t n)
{
        for (size_t i = 0; i < n; i++)
                answer_finish(&q[i].answer);
}
