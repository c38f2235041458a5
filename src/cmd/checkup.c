#include "cmd/checkup.h"

#include "cmd/command.h"
#include "doctor/doctor.h"
#include "life/worker.h"
#include "translate/translate.h"

#include <stdio.h>
#include <string.h>

#define CHECKS_MAX 32

struct checkup {
        struct crew crew;
        bool done; /* under the lock, as shown and n */
        char *texts[6];
        struct doctor doctor;
        char backend[16]; /* that the checks are for */
        struct result results[CHECKS_MAX];
        struct ui_check shown[CHECKS_MAX];
        size_t n;
};

static void free_checkup(struct crew *crew)
{
        struct checkup *c = (struct checkup *)crew;
        doctor_finish(&c->doctor);
        for (size_t i = 0; i < ARRAY_LEN(c->texts); i++)
                free(c->texts[i]);
        free(c);
}

static uint8_t outcome_ink(enum outcome outcome)
{
        switch (outcome) {
        case OUTCOME_OK:
                return INK_GOOD;
        case OUTCOME_NOTE:
        case OUTCOME_COUNT:
                return INK_DIM;
        case OUTCOME_WARN:
                return INK_WARN;
        case OUTCOME_FAIL:
                return INK_CRIT;
        }
        return INK_DIM;
}

static void run_check(struct checkup *c, const struct check *check)
{
        struct result *r = &c->results[c->n];
        check->run(&c->doctor, r);
        crew_lock(&c->crew);
        c->shown[c->n++] = (struct ui_check){.ink = outcome_ink(r->outcome),
                                             .wrong = r->outcome >= OUTCOME_WARN,
                                             .name = check->name,
                                             .says = r->says,
                                             .remedy = r->remedy};
        crew_unlock(&c->crew);
}

static void checkup_run(void *arg)
{
        struct checkup *c = arg;
        const struct check *check;
        doctor_prepare(&c->doctor);
        for (size_t i = 0; i < CHECKS_MAX && (check = check_at(i)); i++)
                if (check_is_of(check, c->backend))
                        run_check(c, check);
        crew_lock(&c->crew);
        c->done = true;
        crew_unlock(&c->crew);
}

static const char *checkup_keep(struct checkup *c, size_t i, const char *text)
{
        c->texts[i] = text ? strdup(text) : NULL;
        return c->texts[i];
}

void checkup_source(const struct config *config, struct source_config *ret)
{
        *ret = (struct source_config){
            .location = config_text(config, OPT_SOURCE),
            .dcgmi = setup_program(config, OPT_DCGMI),
            .dcgm_host = config_text(config, OPT_DCGM_HOST),
            .nvml_lib = setup_program(config, OPT_NVML_LIB),
            .token_file = config_text(config, OPT_TOKEN_FILE),
            .root = config_is_set(config, OPT_ROOT) ? config_text(config, OPT_ROOT) : ""};
        ret->dcgm_ids = translate_dcgm_ids(&ret->n_dcgm_ids);
}

struct checkup *checkup_start(const struct config *config, const char *backend)
{
        struct checkup *c = calloc(1, sizeof(*c));
        if (!c)
                return NULL;
        struct source_config *s = &c->doctor.source;
        checkup_source(config, s);
        s->location = checkup_keep(c, 0, s->location);
        s->dcgmi = checkup_keep(c, 1, s->dcgmi);
        s->dcgm_host = checkup_keep(c, 2, s->dcgm_host);
        s->root = checkup_keep(c, 3, s->root);
        s->root = s->root ? s->root : "";
        s->nvml_lib = checkup_keep(c, 4, s->nvml_lib);
        s->token_file = checkup_keep(c, 5, s->token_file);
        snprintf(c->backend, sizeof(c->backend), "%s", backend);
        c->doctor.get_env = get_env;
        c->doctor.to_terminal = true;
        crew_init(&c->crew, free_checkup);
        if (crew_start(&c->crew, checkup_run, c) == 0)
                return c;
        crew_leave(&c->crew, 0);
        return NULL;
}

bool checkup_results(struct checkup *c, const struct ui_check **ret, size_t *ret_n)
{
        crew_lock(&c->crew);
        *ret = c->shown;
        *ret_n = c->n;
        bool done = c->done;
        crew_unlock(&c->crew);
        return done;
}

void checkup_close(struct checkup *c)
{
        if (c)
                crew_leave(&c->crew, 0);
}
