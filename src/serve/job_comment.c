#include "serve/job_comment.h"

#include "base/base64.h"
#include "formats/jobstats/jobstats.h"
#include "serve/libraries.h"

#include <errno.h>
#include <stdlib.h>

#define PREFIX "JS1:"
#define COMMENT_MAX (1u << 20)
#define NODE_NAME_BYTES 24

bool job_comment_read(const char *comment, char **ret, size_t *ret_n)
{
        size_t n = strlen(comment), packed_n;
        if (strncmp(comment, PREFIX, strlen(PREFIX)) != 0 || n > COMMENT_MAX)
                return false;
        comment += strlen(PREFIX);
        n -= strlen(PREFIX);
        char *packed = malloc(BASE64_BYTES(n));
        bool fine = packed && base64_read(comment, n, packed, BASE64_BYTES(n), &packed_n) &&
                    zlib_gunzip(packed, packed_n, JOBSTATS_TEXT_MAX, ret, ret_n);
        free(packed);
        return fine;
}

static int write_packed(const struct strbuf *json, struct strbuf *out, struct err *err)
{
        char *packed;
        size_t n;
        if (!zlib_gzip(json->s, json->len, &packed, &n))
                return err_set(err, ERR_NO_SOURCE, "cannot compress the comment: zlib is missing");
        strbuf_puts(out, PREFIX);
        base64_put(out, packed, n);
        free(packed);
        return out->failed ? err_set(err, -ENOMEM, "out of memory") : 0;
}

int job_comment_write(const struct record *r, const struct job_request *request, const char *node,
                      const char *before, struct strbuf *out, struct err *err)
{
        char names[RECORD_EACH_MAX][NODE_NAME_BYTES];
        struct jobstats_gpu gpus[RECORD_EACH_MAX];
        struct jobstats_node n = {
            .name = node,
            .cpus = job_request_on_node(r->use.cpus, request->cpus, request->nodes),
            .cpu_s = r->use.cpu_s,
            .memory_peak = r->use.memory_peak,
            .memory_limit =
                job_request_on_node(r->use.memory_limit, request->memory, request->nodes),
            .gpus = gpus,
        };
        for (; n.n_gpus < r->n_each; n.n_gpus++) {
                const struct record_gpu *g = &r->each[n.n_gpus];
                if (!record_gpu_name(r, n.n_gpus, names[n.n_gpus], NODE_NAME_BYTES))
                        break;
                gpus[n.n_gpus] = (struct jobstats_gpu){names[n.n_gpus], g->util, g->memory_peak,
                                                       g->memory_total};
        }
        char *old = NULL;
        size_t old_n = 0;
        struct strbuf json = {0};
        job_comment_read(before, &old, &old_n);
        int code = jobstats_add_node(old ? old : "", old_n, &n, request->elapsed_s, &json, err);
        if (code == 0)
                code = write_packed(&json, out, err);
        free(old);
        strbuf_finish(&json);
        return code;
}
