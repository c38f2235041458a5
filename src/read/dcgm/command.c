#include "read/dcgm/command.h"

#include "base/attr.h"

#include <stdio.h>
#include <string.h>

static bool is_counter(unsigned id)
{
        return id >= DCGM_ID_PROFILING && id < DCGM_ID_PROFILING_END;
}

static bool is_engine(unsigned id)
{
        return id >= 1017 && id <= 1034;
}

/* What PCIe and NVLink move, as the driver reports without counters: the engine waits 20 ms for
 * each. */
static bool is_spare(unsigned id)
{
        return id == 200 || id == 201 || id == 843 || id == 897;
}

/* Told by exporters and captures, and worth no time of the engine here. */
static bool is_for_exporters(unsigned id)
{
        return id == 191 || (id >= 242 && id <= 247);
}

/* Pipes and kinds of tensor work come from other counters than SM, tensor, memory and links. */
static bool in_one_pass(unsigned id)
{
        return !is_counter(id) || id <= 1005 || (id >= 1009 && id <= 1012);
}

static bool in_plan(unsigned id, enum dcgm_plan plan)
{
        switch (plan) {
        case DCGM_PLAN_ALL:
                return !is_spare(id);
        case DCGM_PLAN_MOST:
                return !is_spare(id) && !is_engine(id);
        case DCGM_PLAN_ONE_PASS:
                return !is_spare(id) && in_one_pass(id);
        case DCGM_PLAN_DEVICE:
                return !is_counter(id);
        }
        return false;
}

static void add_ids(const unsigned *wanted, size_t n, enum dcgm_plan plan,
                    const struct dcgm_fields *known, struct dcgm_ids *ret)
{
        for (size_t i = 0; i < n && ret->n < DCGM_IDS_MAX; i++) {
                bool exists = !known || known->n == 0 || dcgm_has_field(known, wanted[i]);
                if (exists && !is_for_exporters(wanted[i]) && in_plan(wanted[i], plan))
                        ret->id[ret->n++] = wanted[i];
        }
}

void dcgm_choose_ids(const unsigned *wanted, size_t n, enum dcgm_plan plan, bool slices,
                     const struct dcgm_fields *known, struct dcgm_ids *ret)
{
        static const unsigned identity[] = {DCGM_ID_NAME, DCGM_ID_UUID};
        ret->n = 0;
        if (slices)
                add_ids(identity, ARRAY_LEN(identity), plan, known, ret);
        add_ids(wanted, n, plan, known, ret);
}

static void add_number(char *buf, size_t size, unsigned number)
{
        size_t len = strlen(buf);
        snprintf(buf + len, size - len, "%s%u", len > 0 ? "," : "", number);
}

/* MIG slices come only when they are asked for. GPUs out of reach are not asked about. */
static void choose_entities(const struct dcgm_inventory *inv, char *buf, size_t size)
{
        size_t reachable = 0;
        buf[0] = '\0';
        if (inv->n_slices > 0) {
                snprintf(buf, size, "*,*/*,*/*/*");
                return;
        }
        for (size_t i = 0; i < inv->n_gpus; i++)
                reachable += inv->gpus[i].local >= 0;
        for (size_t i = 0; reachable < inv->n_gpus && i < inv->n_gpus; i++) {
                if (inv->gpus[i].local >= 0)
                        add_number(buf, size, (unsigned)inv->gpus[i].id);
        }
}

struct words_to {
        struct dcgm_command *command;
        size_t n;
};

static void dcgm_command_add(struct words_to *w, const char *word)
{
        if (w->n + 1 < ARRAY_LEN(w->command->argv))
                w->command->argv[w->n++] = word;
}

static void add_stream(struct words_to *w, const struct dcgm_ids *ids,
                       const struct dcgm_inventory *inv, int64_t delay_ms)
{
        struct dcgm_command *c = w->command;
        c->ids[0] = '\0';
        for (size_t i = 0; i < ids->n; i++)
                add_number(c->ids, sizeof(c->ids), ids->id[i]);
        snprintf(c->delay, sizeof(c->delay), "%lld", (long long)delay_ms);
        choose_entities(inv, c->entities, sizeof(c->entities));
        dcgm_command_add(w, "-c");
        dcgm_command_add(w, "0");
        dcgm_command_add(w, "-d");
        dcgm_command_add(w, c->delay);
        dcgm_command_add(w, "-e");
        dcgm_command_add(w, c->ids);
        if (c->entities[0]) {
                dcgm_command_add(w, "-i");
                dcgm_command_add(w, c->entities);
        }
}

void dcgm_build_command(enum dcgm_verb verb, const char *program, const char *host,
                        const struct dcgm_ids *ids, const struct dcgm_inventory *inv,
                        int64_t delay_ms, struct dcgm_command *ret)
{
        static const char *const flags[] = {
            [DCGM_LIST_GPUS] = "-l", [DCGM_LIST_SLICES] = "-c", [DCGM_LIST_FIELDS] = "-l"};
        struct words_to w = {ret, 0};
        memset(ret->argv, 0, sizeof(ret->argv));
        dcgm_command_add(&w, program);
        dcgm_command_add(&w,
                         verb == DCGM_LIST_GPUS || verb == DCGM_LIST_SLICES ? "discovery" : "dmon");
        if (host) {
                dcgm_command_add(&w, "--host");
                dcgm_command_add(&w, host);
        }
        if (verb == DCGM_STREAM)
                add_stream(&w, ids, inv, delay_ms);
        else
                dcgm_command_add(&w, flags[verb]);
}
