#include "cmd/recording.h"

#include "app/output.h"
#include "app/rank.h"
#include "base/clock.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#define NAMES_MAX 10000

/* "rank-0003" of a job's rank; of what is not a rank, the moment of its start. */
static void name_file(const struct rank_facts *rank, int64_t start_ns, char buf[64])
{
        time_t t = (time_t)(start_ns / NS_PER_S);
        struct tm tm;
        if (rank->launcher) {
                snprintf(buf, 64, "rank-%04.0f", rank->rank.v);
                return;
        }
        localtime_r(&t, &tm);
        strftime(buf, 64, "assay-%Y%m%d-%H%M%S", &tm);
}

/*
 * Under a name that is not taken, in a folder ("" for the current one, else with a slash at its
 * end). All tasks of a job step may look for one in the same second, and a rank that is started
 * again finds the file of its first try.
 */
static int create_named(const char *folder, const char *stem, int64_t start_ns,
                        char path[RECORDING_PATH_MAX], struct session **ret, struct err *err)
{
        int r = -EEXIST;
        for (int i = 1; i < NAMES_MAX && (r == -EEXIST || r == -EAGAIN); i++) {
                char more[16] = "", name[RECORDING_PATH_MAX];
                if (i > 1)
                        snprintf(more, sizeof(more), "-%d", i);
                if (snprintf(name, sizeof(name), "%s%s%s.assay", folder, stem, more) >=
                    (int)sizeof(name))
                        return err_set(err, -ENAMETOOLONG, "too long a name: '%s'", folder);
                memcpy(path, name, sizeof(name));
                r = session_create(path, start_ns, ret, err);
        }
        if (r == 0 && err)
                *err = (struct err){0};
        return r;
}

/*
 * The folder of a job's ranks, which all of them look for at once. One that others may write to, or
 * a link to elsewhere, is not used unless the user names it.
 */
static int make_folder(const char *folder, bool named, struct err *err)
{
        struct stat st;
        if (mkdir(folder, 0700) < 0 && errno != EEXIST) {
                int r = -errno;
                return err_set(err, r, "cannot make the folder '%s': %s", folder, strerror(-r));
        }
        if (named && stat(folder, &st) == 0 && S_ISDIR(st.st_mode))
                return 0;
        if (!named && lstat(folder, &st) == 0 && S_ISDIR(st.st_mode) && st.st_uid == geteuid() &&
            (st.st_mode & (S_IWGRP | S_IWOTH)) == 0)
                return 0;
        err_set(err, -EPERM, "'%s' is in the way, and is no folder of yours alone", folder);
        return err_hint(err, "name a folder: -o FOLDER/");
}

static bool is_folder(const char *path)
{
        struct stat st;
        size_t len = strlen(path);
        return (len > 0 && path[len - 1] == '/') || (stat(path, &st) == 0 && S_ISDIR(st.st_mode));
}

/* In a folder that the user names, the job's own, or here. */
static int create_in(const char *named, int64_t start_ns, char path[RECORDING_PATH_MAX],
                     struct session **ret, struct err *err)
{
        struct rank_facts rank = rank_facts(get_env);
        char stem[64], folder[RECORDING_PATH_MAX - 80] = "";
        int64_t start = start_ns == SESSION_START_FIRST ? clock_wall_ns() : start_ns;
        bool job = !named && rank_is_one_of_many(&rank) && rank.job[0];
        int r = 0;
        if (!named && !job)
                rank.launcher = NULL; /* many runs may have a rank 0 here */
        if (named && strlen(named) + 2 > sizeof(folder))
                return err_set(err, -ENAMETOOLONG, "too long a name: '%s'", named);
        if (named || job) {
                snprintf(folder, sizeof(folder), "%s%s", named ? "" : "assay-",
                         named ? named : rank.job);
                for (size_t len = strlen(folder); len > 1 && folder[len - 1] == '/'; len--)
                        folder[len - 1] = '\0';
                r = make_folder(folder, named, err);
                strcat(folder, "/");
        }
        name_file(&rank, start, stem);
        return r < 0 ? r : create_named(folder, stem, start_ns, path, ret, err);
}

/* Under a name of our own: here when only the name is taken, else where temporary files go. */
static int create_elsewhere(int64_t start_ns, bool is_local, char path[RECORDING_PATH_MAX],
                            struct session **ret)
{
        struct rank_facts rank = {0};
        struct err err = {0}; /* reported by the caller that tried the name that was asked for */
        char folder[RECORDING_PATH_MAX - 80] = "", stem[64];
        const char *tmp = get_env("TMPDIR");
        name_file(&rank, start_ns == SESSION_START_FIRST ? clock_wall_ns() : start_ns, stem);
        if (!is_local)
                snprintf(folder, sizeof(folder), "%s/", tmp && tmp[0] ? tmp : "/tmp");
        return create_named(folder, stem, start_ns, path, ret, &err);
}

int recording_check(const struct config *config, struct err *err)
{
        const char *output = config_text(config, OPT_OUTPUT);
        const char *slash = output ? strrchr(output, '/') : NULL;
        char folder[RECORDING_PATH_MAX];
        struct stat st;
        if (!slash || slash == output)
                return 0;
        if (is_folder(output)) { /* it is made: only what it lies in must be there */
                for (; slash > output && slash[0] == '/'; slash--)
                        ;
                for (; slash > output && slash[0] != '/'; slash--)
                        ;
                if (slash == output)
                        return 0;
        }
        snprintf(folder, sizeof(folder), "%.*s", (int)(slash - output), output);
        if (stat(folder, &st) < 0 && errno != ENOENT && errno != ENOTDIR)
                return 0; /* it may be there all the same: writing reports */
        if (stat(folder, &st) == 0 && S_ISDIR(st.st_mode))
                return 0;
        err_set(err, ERR_USAGE, "no such folder: '%s'", folder);
        return err_hint(err, "make it first: mkdir -p '%s'", folder);
}

bool recording_is_announced(void)
{
        struct rank_facts rank = rank_facts(get_env);
        return !rank_is_one_of_many(&rank) || rank.rank.v == 0;
}

void recording_report_collector(const char *name, const char *why)
{
        notice("--collect: '%s' gives nothing: %s", name, why);
}

#define NO_GPU "no GPU found: "

void recording_report_no_gpu(const struct err *why)
{
        struct pollfd fd = {.fd = STDERR_FILENO, .events = POLLOUT};
        size_t known = strncmp(why->msg, NO_GPU, strlen(NO_GPU)) == 0 ? strlen(NO_GPU) : 0;
        if (poll(&fd, 1, 0) > 0)
                notice("no GPU seen (%s); recording the host only", why->msg + known);
}

bool recording_folder(const char *path, char folder[RECORDING_PATH_MAX])
{
        struct rank_facts rank = rank_facts(get_env);
        const char *slash = strrchr(path, '/');
        if (!rank_is_one_of_many(&rank) || !slash)
                return false;
        snprintf(folder, RECORDING_PATH_MAX, "%.*s", (int)(slash - path), path);
        return true;
}

int recording_create(const struct config *config, int64_t start_ns, bool fall_back,
                     char path[RECORDING_PATH_MAX], struct session **ret, struct err *err)
{
        const char *output = config_text(config, OPT_OUTPUT);
        bool folder = !output || is_folder(output);
        int r;
        if (!folder && output_check(output, config_text(config, OPT_SOURCE), true, err) < 0)
                return err->code;
        if (!folder) {
                snprintf(path, RECORDING_PATH_MAX, "%s", output);
                r = session_create(path, start_ns, ret, err);
        } else {
                r = create_in(output, start_ns, path, ret, err);
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

static void report_result(const char *path, const struct engine_result *r)
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

int recording_end(struct session *s, char path[RECORDING_PATH_MAX],
                  const struct engine_result *result, bool quiet)
{
        struct err err = {0};
        if (session_left_out(s) && !quiet)
                notice("the source named more than %d GPUs; later ones are not in '%s'",
                       SESSION_GPUS_MAX, path);
        char now[RECORDING_PATH_MAX];
        bool present = session_find_file(s, now, sizeof(now));
        int r = manifest_end(s, result, &err);
        if (!quiet || result->store.code != 0)
                report_result(path, result);
        if (!present) {
                err_set(&err, -ENOENT, "'%s' was removed while it was recorded: nothing is kept",
                        path);
                return complain(&err);
        }
        if (strcmp(path, now) != 0) {
                notice("'%s' was moved to '%s' while it was recorded", path, now);
                memcpy(path, now, sizeof(now));
        }
        if (r < 0 && result->store.code == 0)
                return complain(&err);
        return r < 0 ? EXIT_FAILED : EXIT_FINE;
}
