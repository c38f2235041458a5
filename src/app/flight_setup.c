#include "app/flight_setup.h"

#include "app/manifest.h"
#include "base/clock.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MINUTES_LEAST 0.1
#define MINUTES_MOST 1440

static int parse_minutes(const struct config *config, int64_t *ret, struct err *err)
{
        const char *text = config_text(config, OPT_FLIGHT);
        char *end = NULL;
        double minutes = strcmp(text, "off") == 0 ? 0 : strtod(text, &end);
        bool fits = minutes == 0 || (minutes >= MINUTES_LEAST && minutes <= MINUTES_MOST);
        if (end && (end == text || *end != '\0' || !fits)) {
                err_set(err, ERR_USAGE, "--flight: '%s' is not a number of minutes from %g to %d",
                        text, MINUTES_LEAST, MINUTES_MOST);
                return err_hint(err, "10 is the default; 'off' keeps nothing");
        }
        *ret = clock_from_seconds(minutes * 60);
        return 0;
}

/* One folder a host: a home may be shared by many. */
void flight_setup_runs(const struct config *config, char ret[SETUP_PATH_MAX])
{
        char state[SETUP_PATH_MAX], host[256] = "";
        setup_state_folder(config, state);
        if (gethostname(host, sizeof(host) - 1) < 0 || host[0] == '\0')
                snprintf(host, sizeof(host), "localhost");
        for (char *c = host; *c; c++) {
                bool plain = (*c >= '0' && *c <= '9') || (*c >= 'A' && *c <= 'Z') ||
                             (*c >= 'a' && *c <= 'z') || *c == '-' || (*c == '.' && c > host);
                *c = plain ? *c : '_';
        }
        if (!state[0] ||
            snprintf(ret, SETUP_PATH_MAX, "%s/dumps/%s", state, host) >= SETUP_PATH_MAX)
                ret[0] = '\0';
}

/* What is played, and what other machines report, is not of now and here. */
static bool reads_this_machine(const struct config *config)
{
        return !config_text(config, OPT_SOURCE) && !setup_reads_nodes(config);
}

static int open_in(const struct config *config, int64_t keep_ns, struct flight **ret,
                   struct err *err)
{
        char runs[SETUP_PATH_MAX];
        const char *folder = config_text(config, OPT_FLIGHT_FOLDER);
        flight_setup_runs(config, runs);
        const struct flight_config fc = {
            .keep_ns = keep_ns,
            .folder = folder ? folder : runs,
            .program = config->command ? config->command : "library",
            .runs = runs[0] ? runs : NULL,
            .takes_signal = true,
            .interval_s = clock_to_seconds(manifest_interval_ns(config)),
        };
        if (!fc.folder[0]) {
                err_set(err, -ENOENT, "there is no folder for dumps");
                return err_hint(err, "set HOME, or give --flight-folder DIR");
        }
        int r = flight_open(&fc, ret, err);
        if (r == 0)
                manifest_describe(flight_session(*ret), config, NULL, NULL);
        if (r == 0)
                session_set_text(flight_session(*ret), "backend", config_text(config, OPT_BACKEND));
        return r;
}

int flight_setup_open(const struct config *config, struct flight **ret,
                      char notice[SETUP_NOTICE_MAX], struct err *err)
{
        struct err why = {0};
        int64_t keep_ns = 0;
        bool asked = config_is_set(config, OPT_FLIGHT) || config_is_set(config, OPT_FLIGHT_FOLDER);
        struct flight *f = NULL;
        notice[0] = '\0';
        int r = parse_minutes(config, &keep_ns, err);
        if (r < 0)
                return r;
        if (keep_ns > 0 && reads_this_machine(config))
                r = open_in(config, keep_ns, &f, &why);
        if (r < 0 && asked)
                return *err = why, r;
        /* Who has no home did not choose that. */
        if (r < 0 && r != -ENOENT)
                snprintf(notice, SETUP_NOTICE_MAX, "%.200s; no dumps are written", why.msg);
        *ret = f;
        return 0;
}
