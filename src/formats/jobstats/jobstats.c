#include "formats/jobstats/jobstats.h"

#include "base/jsonin.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>

static int no_memory(struct err *err)
{
        return err_set(err, -ENOMEM, "out of memory");
}

/* The nodes of an earlier text that have the form of one. Owned by the caller; NULL: no memory. */
static json_t *read_nodes(const char *old, size_t n)
{
        json_t *ret = json_object(), *root = NULL;
        const char *name;
        json_t *node;
        if (n > 0 && n <= JOBSTATS_TEXT_MAX)
                root = jsonin_load(old, n, JSON_REJECT_DUPLICATES, NULL);
        json_object_foreach(json_object_get(root, "nodes"), name, node)
        {
                if (json_is_object(node) && json_object_size(ret) < JOBSTATS_NODES_MAX)
                        json_object_set(ret, name, node);
        }
        json_decref(root);
        return ret;
}

static bool set_number(json_t *o, const char *name, struct value v, double scale, int decimals)
{
        double unit = pow(10, decimals);
        if (!value_is_set(v))
                return true;
        double rounded = round(v.v * scale * unit) / unit;
        return json_object_set_new(o, name,
                                   decimals == 0 ? json_integer((json_int_t)rounded)
                                                 : json_real(rounded)) == 0;
}

/* A member of a node: what each GPU has of it. Without any there is none. */
static bool set_gpus(json_t *o, const char *name, const struct jobstats_node *node, size_t field,
                     double scale, int decimals)
{
        json_t *list = json_object();
        bool fine = list != NULL;
        for (size_t i = 0; fine && i < node->n_gpus; i++) {
                const char *at = (const char *)&node->gpus[i] + field;
                const struct value *v = (const struct value *)(const void *)at;
                fine = set_number(list, node->gpus[i].name, *v, scale, decimals);
        }
        if (fine && json_object_size(list) > 0)
                return json_object_set_new(o, name, list) == 0;
        json_decref(list);
        return fine;
}

static json_t *make_node(const struct jobstats_node *n)
{
        json_t *o = json_object();
        if (o && set_number(o, "cpus", n->cpus, 1, 0) &&
            set_number(o, "total_time", n->cpu_s, 1, 1) &&
            set_number(o, "total_memory", n->memory_limit, 1, 0) &&
            set_number(o, "used_memory", n->memory_peak, 1, 0) &&
            set_gpus(o, "gpu_utilization", n, offsetof(struct jobstats_gpu, util), 100, 1) &&
            set_gpus(o, "gpu_used_memory", n, offsetof(struct jobstats_gpu, memory_peak), 1, 0) &&
            set_gpus(o, "gpu_total_memory", n, offsetof(struct jobstats_gpu, memory_total), 1, 0))
                return o;
        json_decref(o);
        return NULL;
}

static size_t count_gpus(json_t *nodes)
{
        const char *name;
        json_t *node;
        size_t n = 0;
        json_object_foreach(nodes, name, node) n +=
            json_object_size(json_object_get(node, "gpu_total_memory"));
        return n;
}

int jobstats_add_node(const char *old, size_t n, const struct jobstats_node *node,
                      struct value elapsed_s, struct strbuf *out, struct err *err)
{
        json_t *nodes = read_nodes(old, n), *own = make_node(node), *root = json_object();
        char *text = NULL;
        bool fine =
            nodes && root && own && json_object_set(nodes, node->name, own) == 0 &&
            json_object_set(root, "nodes", nodes) == 0 &&
            set_number(root, "total_time", elapsed_s, 1, 0) &&
            json_object_set_new(root, "gpus", json_integer((json_int_t)count_gpus(nodes))) == 0;
        if (fine)
                text = json_dumps(root, JSON_COMPACT | JSON_SORT_KEYS | JSON_ENSURE_ASCII |
                                            JSON_REAL_PRECISION(12));
        if (text)
                strbuf_puts(out, text);
        free(text);
        json_decref(own);
        json_decref(nodes);
        json_decref(root);
        return text && !out->failed ? 0 : no_memory(err);
}
