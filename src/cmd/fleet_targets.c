/* assay fleet targets: the nodes to scrape, as a file for Prometheus, VictoriaMetrics or vmagent.
 */
#include "cmd/fleet_targets.h"

#include "app/output.h"
#include "app/targets.h"

#include <errno.h>
#include <string.h>

static int refuse_views(const struct config *config, struct err *err)
{
        static const enum option list[] = {
            OPT_ENGINE, OPT_LIVE,        OPT_WINDOW, OPT_FORMAT,  OPT_SINCE,     OPT_UNTIL,
            OPT_LIMIT,  OPT_TOKEN_FILE,  OPT_TENANT, OPT_TIMEOUT, OPT_QUERIES,   OPT_ASCII,
            OPT_THEME,  OPT_POLL,        OPT_USER,   OPT_ACCOUNT, OPT_PARTITION, OPT_CLUSTER,
            OPT_NODE,   OPT_CO2,         OPT_GRACE,  OPT_EXCEPT,  OPT_SCANCEL,   OPT_NOTIFY,
            OPT_SEND,   OPT_MAIL_DOMAIN, OPT_REPEAT, OPT_STATE,   OPT_MODEL};
        static const enum option pods[] = {OPT_SELECTOR};
        int r =
            config_refuse(config, list, ARRAY_LEN(list), "is for the views of 'assay fleet'",
                          "leave it out: 'fleet targets' writes a list and asks no engine", err);
        if (r == 0 && !config_flag(config, OPT_KUBERNETES))
                r = config_refuse(config, pods, ARRAY_LEN(pods), "chooses pods",
                                  "leave it out, or add --kubernetes", err);
        return r;
}

static int choose_targets(const struct config *config, struct targets_config *ret, struct err *err)
{
        const char *hosts = config_text(config, OPT_HOSTS);
        const char *slurm = config_text(config, OPT_SLURM);
        bool kubernetes = config_flag(config, OPT_KUBERNETES);
        *ret = (struct targets_config){
            .source = slurm        ? TARGETS_SLURM
                      : kubernetes ? TARGETS_KUBERNETES
                                   : TARGETS_HOSTS,
            .hosts = hosts,
            .partition = slurm,
            .selector = config_text(config, OPT_SELECTOR),
            .port = (uint16_t)config_number(config, OPT_PORT),
            .labels = config_text(config, OPT_LABELS),
        };
        if (config->n_args > 2)
                return err_set(err, ERR_USAGE, "unexpected argument '%s'", config->args[2]);
        if ((hosts != NULL) + (slurm != NULL) + kubernetes == 1)
                return 0;
        err_set(err, ERR_USAGE,
                "say where the nodes are known: one of --slurm, --hosts and --kubernetes");
        return err_hint(err, "assay fleet targets --hosts 'node[01-16]' -o targets.json");
}

/* The file changes at once or not at all: Prometheus reads it whenever it changes. */
static int write_targets(const struct config *config, struct strbuf *out, size_t n, struct err *err)
{
        const char *path = config_text(config, OPT_OUTPUT);
        if (!path || strcmp(path, "-") == 0) {
                int r = print_text(out);
                return r < 0 && r != -EPIPE ? err_set(err, r, "cannot write: %s", strerror(-r)) : 0;
        }
        int r = output_replace(path, out, err);
        if (r == 0)
                notice("%zu target%s in '%s'", n, n == 1 ? "" : "s", path);
        return r;
}

int fleet_targets_run(const struct config *config)
{
        struct targets_config tc;
        struct strbuf out = {0};
        struct err err = {0};
        size_t n = 0;
        int r = refuse_views(config, &err);
        if (r == 0)
                r = choose_targets(config, &tc, &err);
        if (r == 0)
                r = targets_make(&tc, &out, &n, &err);
        if (r == 0)
                r = write_targets(config, &out, n, &err);
        strbuf_finish(&out);
        return r < 0 ? complain(&err) : EXIT_FINE;
}
