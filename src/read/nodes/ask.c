#include "read/nodes/ask.h"

#include "base/clock.h"
#include "life/helper.h"
#include "life/thread.h"
#include "read/nodes/link.h"
#include "read/nodes/reach.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ASKED_AT_ONCE 32

struct round {
        pthread_mutex_t lock;
        struct reach reach;
        const struct source_config *config;
        const char *const *words;
        size_t n_words, next;
        int64_t patience_ns;
        int (*take)(void *arg, const struct node_answer *a);
        void *arg;
        int code;
};

/* Why it gave nothing, in our own words. */
static void explain_failure(const struct round *r, int code, int status, struct strbuf *said,
                            struct node *node)
{
        node->state = NODE_DOWN;
        node->words[0] = node->hint[0] = '\0';
        if (code == -ETIMEDOUT)
                snprintf(node->words, sizeof(node->words), "no answer within %.0f s",
                         clock_to_seconds(r->patience_ns));
        else if (code == -EFBIG)
                snprintf(node->words, sizeof(node->words), "its answer is too long");
        else if (code < 0)
                snprintf(node->words, sizeof(node->words), "cannot be asked: %s", strerror(-code));
        else
                node_explain_end(strbuf_str(said), status, node);
}

static int run_on(const struct round *r, size_t at, struct strbuf *text, struct strbuf *said,
                  int *ret_status)
{
        struct helper helper = HELPER_NONE;
        const struct helper_options how = {.death_signal = r->reach.is_srun ? SIGTERM : SIGKILL,
                                           .hides = r->reach.is_srun ? reach_hides : NULL};
        const struct helper_limits limits = {
            .patience_ns = r->patience_ns, .most = ASK_ANSWER_MAX, .wake = -1};
        struct node_command *command = malloc(sizeof(*command));
        int code = command ? 0 : -ENOMEM;
        if (code == 0 && !reach_command(&r->reach, r->config, at, r->words, r->n_words, command))
                code = -E2BIG;
        if (code == 0)
                code = helper_start(&helper, command->argv, &how);
        if (code == 0)
                code = helper_collect(&helper, &limits, text, said);
        *ret_status = code == 0 ? helper_finish(&helper) : -1;
        helper_stop(&helper);
        free(command);
        return code;
}

static void query_node(struct round *r, size_t at)
{
        struct strbuf text = {0}, said = {0};
        struct node node = {0};
        int status, code = run_on(r, at, &text, &said, &status);
        if (code < 0 || text.len == 0)
                explain_failure(r, code, status, &said, &node);
        const struct node_answer a = {.node = at,
                                      .n = r->reach.n,
                                      .name = r->reach.targets[at].name,
                                      .text = &text,
                                      .status = status,
                                      .why = node.words[0] ? node.words : NULL,
                                      .hint = node.hint};
        pthread_mutex_lock(&r->lock);
        if (r->code == 0)
                r->code = r->take(r->arg, &a);
        pthread_mutex_unlock(&r->lock);
        strbuf_finish(&text);
        strbuf_finish(&said);
}

static bool take_target(struct round *r, size_t *ret)
{
        pthread_mutex_lock(&r->lock);
        bool more = r->code == 0 && r->next < r->reach.n;
        if (more)
                *ret = r->next++;
        pthread_mutex_unlock(&r->lock);
        return more;
}

static void *query_nodes(void *arg)
{
        size_t at;
        while (take_target(arg, &at))
                query_node(arg, at);
        return NULL;
}

static void probe_all(struct round *r)
{
        pthread_t threads[ASKED_AT_ONCE];
        size_t n = 0;
        while (n + 1 < MIN(r->reach.n, (size_t)ASKED_AT_ONCE) &&
               life_start_thread(query_nodes, r, &threads[n]) == 0)
                n++;
        query_nodes(r);
        while (n > 0)
                pthread_join(threads[--n], NULL);
}

int nodes_query(const struct source_config *config, const char *const *words, size_t n_words,
                int64_t patience_ns, int (*take)(void *arg, const struct node_answer *a), void *arg,
                struct err *err)
{
        struct round r = {.config = config,
                          .words = words,
                          .n_words = n_words,
                          .patience_ns = patience_ns,
                          .take = take,
                          .arg = arg};
        r.code = reach_open(config, -1, &r.reach, err);
        if (r.code == 0) {
                pthread_mutex_init(&r.lock, NULL);
                probe_all(&r);
                pthread_mutex_destroy(&r.lock);
        }
        reach_finish(&r.reach);
        return r.code;
}
