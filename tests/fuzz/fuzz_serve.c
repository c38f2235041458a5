/* What `assay serve` reads that others wrote: the first byte chooses the reader. */
#include "fuzz.h"

#include "formats/jobstats/jobstats.h"
#include "present/exposition/exposition.h"
#include "read/owners/kubelet.h"
#include "read/owners/owners.h"
#include "serve/guard.h"
#include "serve/job_comment.h"
#include "serve/listen.h"
#include "serve/state.h"
#include "serve/webconfig.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GPUS 8

static void read_kubelet(const uint8_t *data, size_t size)
{
        static struct allocation list[KUBELET_DEVICES_MAX];
        int n = kubelet_parse(data, size, list, KUBELET_DEVICES_MAX);
        for (int i = 0; i < n; i++) {
                if (!memchr(list[i].device, '\0', sizeof(list[i].device)))
                        abort();
        }
}

static void read_state(const char *text, size_t size)
{
        static struct integrals in[GPUS];
        static char keys[GPUS][STATE_KEY_MAX];
        if (state_parse(text, size, in, keys, GPUS) > GPUS)
                abort();
}

static void read_collectors(char *text, size_t size)
{
        static struct exposition_options o;
        struct strbuf notices = {0};
        struct err err = {0};
        if (exposition_choose(&o, 3, text, size, &notices, &err) < 0 && !err.msg[0])
                abort();
        strbuf_finish(&notices);
}

static void read_headers(const char *text)
{
        struct guard_hosts hosts = {0};
        char a[64], b[64];
        guard_add_host(&hosts, text, strlen(text));
        guard_host(&hosts, text);
        guard_weight(text, "gzip");
        guard_basic(text, a, b, sizeof(a));
        guard_cookie(text, "assay_session", a, sizeof(a));
        guard_same(text, "0123456789abcdef");
}

static void read_owner(const char *text, size_t size)
{
        struct owner who = {0};
        struct listen_place place;
        int32_t index, gi;
        char buf[80];
        owners_pod_uid(text, buf, sizeof(buf));
        owners_pod_folder(text, "01234567-89ab-cdef-0123-456789abcdef", &who);
        owners_variable(text, size, "SLURM_JOB_USER", buf, sizeof(buf));
        owners_mapping_name(text, &index, &gi);
        listen_parse(text, &place, NULL);
}

static void read_accounting(const char *text, size_t size)
{
        struct job_request request;
        struct record *r = calloc(1, sizeof(*r));
        char name[16];
        if (!r)
                abort();
        sacct_parse(text, size, "4711", &request);
        owners_cpus(text);
        record_parse_use(text, r);
        snprintf(r->gpus, sizeof(r->gpus), "%s", text);
        for (size_t i = 0; i <= RECORD_EACH_MAX; i++)
                record_gpu_name(r, i, name, sizeof(name));
        if (r->n_each > RECORD_EACH_MAX)
                abort();
        free(r);
}

/* As text, and as what a comment holds once it is unpacked. */
static void read_comment(const char *text)
{
        static const struct jobstats_node node = {.name = "node"};
        struct strbuf out = {0};
        struct err err = {0};
        char *json = NULL;
        size_t n;
        if (job_comment_read(text, &json, &n))
                free(json);
        if (jobstats_add_node(text, strlen(text), &node, value_ok(1), &out, &err) < 0)
                abort();
        strbuf_finish(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        static struct webconfig web;
        struct err err = {0};
        if (size == 0)
                return 0;
        char *text = malloc(size + 1);
        if (!text)
                abort();
        memcpy(text, data + 1, size - 1);
        text[size - 1] = text[size] = '\0';
        switch (data[0]) {
        case 'k':
                read_kubelet(data + 1, size - 1);
                break;
        case 's':
                read_state(text, size - 1);
                break;
        case 'c':
                read_collectors(text, size - 1);
                break;
        case 'h':
                read_headers(text);
                break;
        case 'a':
                read_accounting(text, size - 1);
                break;
        case 'j':
                read_comment(text);
                break;
        case 'o':
                read_owner(text, size - 1);
                break;
        default:
                if (webconfig_parse(text, size - 1, "/x", &web, &err) < 0 && !err.msg[0])
                        abort();
                break;
        }
        free(text);
        return 0;
}
