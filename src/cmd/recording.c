#include "cmd/recording.h"

#include "app/output.h"
#include "base/clock.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#define NAMES_MAX 10000

/*
 * Under a name that is not taken, in a folder ("" for the current one). All tasks of a job step may
 * look for one in the same second.
 */
static int create_named(const char *folder, int64_t start_ns, char path[RECORDING_PATH_MAX],
                        struct session **ret, struct err *err)
{
        int64_t start = start_ns;
        int r = -EEXIST;
        if (start_ns == SESSION_START_FIRST)
                start = clock_wall_ns();
        time_t t = (time_t)(start / NS_PER_S);
        struct tm tm;
        char stamp[32];
        localtime_r(&t, &tm);
        strftime(stamp, sizeof(stamp), "%Y%m%d-%H%M%S", &tm);
        for (int i = 1; i < NAMES_MAX && (r == -EEXIST || r == -EAGAIN); i++) {
                char more[16] = "", name[RECORDING_PATH_MAX];
                if (i > 1)
                        snprintf(more, sizeof(more), "-%d", i);
                snprintf(name, sizeof(name), "%sassay-%s%s.assay", folder, stamp, more);
                memcpy(path, name, sizeof(name));
                r = session_create(path, start_ns, ret, err);
        }
        if (r == 0 && err)
                *err = (struct err){0};
        return r;
}

/* Under a name of our own: here when only the name is taken, else where temporary files go. */
static int create_elsewhere(int64_t start_ns, bool here, char path[RECORDING_PATH_MAX],
                            struct session **ret)
{
        char folder[RECORDING_PATH_MAX - 64] = "";
        const char *tmp = get_env("TMPDIR");
        if (!here)
                snprintf(folder, sizeof(folder), "%s/", tmp && tmp[0] ? tmp : "/tmp");
        return create_named(folder, start_ns, path, ret, NULL);
}

int recording_check(const struct config *config, struct err *err)
{
        const char *output = config_text(config, OPT_OUTPUT);
        const char *slash = output ? strrchr(output, '/') : NULL;
        char folder[RECORDING_PATH_MAX];
        struct stat st;
        if (!slash || slash == output)
                return 0;
        snprintf(folder, sizeof(folder), "%.*s", (int)(slash - output), output);
        if (stat(folder, &st) < 0 && errno != ENOENT && errno != ENOTDIR)
                return 0; /* it may be there all the same: writing tells */
        if (stat(folder, &st) == 0 && S_ISDIR(st.st_mode))
                return 0;
        err_set(err, ERR_USAGE, "no such folder: '%s'", folder);
        return err_hint(err, "make it first: mkdir -p '%s'", folder);
}

int recording_create(const struct config *config, int64_t start_ns, bool fall_back,
                     char path[RECORDING_PATH_MAX], struct session **ret, struct err *err)
{
        const char *output = config_text(config, OPT_OUTPUT);
        int r;
        if (output && output_check(output, config_text(config, OPT_SOURCE), true, err) < 0)
                return err->code;
        if (output) {
                snprintf(path, RECORDING_PATH_MAX, "%s", output);
                r = session_create(path, start_ns, ret, err);
        } else {
                r = create_named("", start_ns, path, ret, err);
        }
        if (r < 0 && (!fall_back || create_elsewhere(start_ns, r == -EEXIST, path, ret) < 0))
                return r;
        if (r < 0)
                notice("%s; recording to '%s' instead", err->msg, path);
        const struct err *trouble = session_trouble(*ret);
        if (trouble)
                notice("%s; recording without marks", trouble->msg);
        return 0;
}

static void tell_result(const char *path, const struct engine_result *r)
{
        if (r->store.code != 0 && r->store_works && r->counts.dropped == 0)
                notice("%s, for a while; '%s' is whole", r->store.msg, path);
        else if (r->store.code != 0 && r->store_works)
                notice("%s, for a while; %llu ticks are missing from '%s'", r->store.msg,
                       (unsigned long long)r->counts.dropped, path);
        else if (r->store.code != 0)
                notice("%s; the end of the recording is missing", r->store.msg);
        if (r->source.code != 0)
                notice("the source ended early: %s", r->source.msg);
        if (r->host.code != 0)
                notice("the host could not be read to the end: %s", r->host.msg);
        if (r->hung)
                notice("the source does not answer, leaving it");
}

int recording_end(struct session *s, const char *path, const struct engine_result *result,
                  bool quiet)
{
        struct err err = {0};
        if (session_left_out(s) && !quiet)
                notice("the source named more than %d GPUs; later ones are not in '%s'",
                       SESSION_GPUS_MAX, path);
        bool there = session_is_there(s);
        int r = manifest_end(s, result, &err);
        if (!quiet || result->store.code != 0)
                tell_result(path, result);
        if (!there) {
                err_set(&err, -ENOENT, "'%s' was removed while it was recorded: nothing is kept",
                        path);
                return complain(&err);
        }
        if (r < 0 && result->store.code == 0)
                return complain(&err);
        return r < 0 ? EXIT_FAILED : EXIT_FINE;
}
