#include "app/input.h"

#include "base/clock.h"
#include "engine/folder.h"
#include "net/address.h"
#include "session/runlog.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A file of that name wins over HOST:PORT. */
bool input_is_address(const char *location)
{
        return strstr(location, "://") ? address_has_scheme(location)
                                       : address_is_bare(location) && access(location, F_OK) < 0;
}

bool input_is_list(const char *location)
{
        char part[ADDRESS_MAX];
        if (location[0] == '@')
                return access(location, F_OK) < 0;
        if (!strpbrk(location, ",[") || access(location, F_OK) == 0)
                return false;
        bool ranges = false;
        for (const char *s = location; *s;) {
                size_t len = 0;
                for (bool inside = false; s[len] && (inside || s[len] != ','); len++)
                        inside = s[len] == '[' || (inside && s[len] != ']');
                if (len >= sizeof(part))
                        return false;
                memcpy(part, s, len);
                part[len] = '\0';
                /* A range stands where a number would. */
                char *open = strchr(part, '['), *close = open ? strchr(open, ']') : NULL;
                if (close && strspn(open + 1, "0123456789-,") == (size_t)(close - open - 1)) {
                        ranges = true;
                        memmove(open, close, strlen(close) + 1);
                        *open = '1';
                }
                if (len > 0 && !input_is_address(part))
                        return false;
                s += len + (s[len] == ',');
        }
        return ranges || strchr(location, ',');
}

bool input_is_recording(const char *location)
{
        return location && !input_is_address(location) && !input_is_list(location);
}

static bool is_folder(const char *path)
{
        struct stat st;
        return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static int open_session(struct input *in, struct err *err)
{
        int r = session_open(in->path, &in->session, err);
        if (r < 0)
                return r;
        facts_from_session(&in->facts, in->session);
        return session_marks(in->session, &in->marks, &in->n_marks, err);
}

static int open_notebook(struct input *in, struct err *err)
{
        int r = notebook_open(in->path, &in->notebook, err);
        if (r == 0)
                r = notebook_facts(in->notebook, &in->facts, err);
        return r < 0 ? r : notebook_marks(in->notebook, &in->marks, &in->n_marks, err);
}

/* What a program logged, without GPUs. */
static int open_log(struct input *in, struct err *err)
{
        int r = runlog_read(in->path, &in->marks, &in->n_marks, &in->n_skipped, err);
        in->gpus[0] = '\0';
        in->is_log = true;
        if (r < 0 || in->n_marks == 0)
                return r;
        const struct mark *first = &in->marks[0], *last = &in->marks[in->n_marks - 1];
        int64_t before = first->type == MARK_PHASE ? clock_from_seconds(first->seconds) : 0;
        in->facts.start_ns = first->wall_ns - MIN(before, first->wall_ns - 1);
        in->facts.stop_ns = last->wall_ns;
        snprintf(in->facts.source, sizeof(in->facts.source), "run log");
        return 0;
}

/* The GPUs of all ranks, the marks of the first. */
static int open_job(struct input *in, const struct folder *files, struct err *err)
{
        struct session_reader *first = NULL;
        int r = session_open(files->paths[0], &first, err);
        if (r == 0)
                r = session_marks(first, &in->marks, &in->n_marks, err);
        session_reader_close(first);
        return r;
}

static int open_folder(struct input *in, struct err *err)
{
        struct folder files;
        if (folder_read(in->path, &files) < 0)
                return err_set(err, -ENOMEM, "out of memory");
        bool sessions = files.n > 0;
        int code = folder_check_related(&files, in->path, err);
        if (code == 0 && sessions)
                code = open_job(in, &files, err);
        folder_finish(&files);
        if (sessions)
                return code;
        if (hwmon_is_one(in->path, in->gpus, sizeof(in->gpus))) {
                in->lenient = true;
                if (!hwmon_dmon(in->path, in->gpus_else, sizeof(in->gpus_else)) ||
                    strcmp(in->gpus, in->gpus_else) == 0)
                        in->gpus_else[0] = '\0';
                int r = hwmon_cpu_open(in->path, &in->cpu, err);
                return r < 0 ? r : hwmon_facts(&in->facts, in->path, err);
        }
        err_set(err, ERR_DATA, "'%s' has no sessions (*.assay), hw_metrics.csv or manifest.json",
                in->path);
        return err_hint(err, "give a session, a capture, a job's folder or a monitor's");
}

static int open_any(struct input *in, struct err *err)
{
        if (input_is_address(in->path)) {
                err_set(err, ERR_USAGE, "'%s' is an address, not a recording", in->path);
                return err_hint(err, "record it first: assay record %s -o run.assay", in->path);
        }
        if (!in->path[0]) {
                err_set(err, -ENOENT, "no such file: ''");
                return err_hint(err, "give the name of a session or of a capture");
        }
        if (session_is_one(in->path))
                return open_session(in, err);
        if (notebook_is_one(in->path))
                return open_notebook(in, err);
        if (runlog_is_one(in->path))
                return open_log(in, err);
        return is_folder(in->path) ? open_folder(in, err) : 0;
}

int input_open(struct input *in, const char *path, struct err *err)
{
        *in = (struct input){.path = path};
        snprintf(in->gpus, sizeof(in->gpus), "%s", path);
        facts_init(&in->facts, path);
        int r = open_any(in, err);
        int64_t end = in->facts.stop_ns ? in->facts.stop_ns : INT64_MAX;
        if (r == 0)
                r = facts_from_marks(&in->facts, in->marks, in->n_marks);
        if (r == 0 &&
            phases_from_marks(in->marks, in->n_marks, end, &in->phases, &in->n_phases) < 0)
                r = err_set(err, -ENOMEM, "out of memory");
        return r;
}

/* A monitor that found no GPU leaves an empty file, which is none. */
static bool has_something(const char *path)
{
        struct stat st;
        return path && stat(path, &st) == 0 && st.st_size > 0;
}

int input_open_files(struct input *in, const char *gpu_csv, const char *cpu_csv,
                     const char *dmon_csv, struct err *err)
{
        int r = 0;
        *in = (struct input){.path = gpu_csv ? gpu_csv : ""};
        facts_init(&in->facts, in->path);
        in->lenient = true;
        if (has_something(gpu_csv))
                snprintf(in->gpus, sizeof(in->gpus), "%s", gpu_csv);
        if (has_something(dmon_csv))
                snprintf(in->gpus[0] ? in->gpus_else : in->gpus, sizeof(in->gpus), "%s", dmon_csv);
        if (has_something(cpu_csv))
                r = hwmon_cpu_open_file(cpu_csv, &in->cpu, err);
        if (r == 0 && has_something(dmon_csv))
                r = hwmon_dmon_facts(&in->facts, dmon_csv, err);
        return r;
}

int64_t input_last_ns(struct input *in)
{
        return in->session ? session_last_ns(in->session) : in->facts.stop_ns;
}

void input_finish(struct input *in)
{
        facts_finish(&in->facts);
        session_reader_close(in->session);
        notebook_close(in->notebook);
        hwmon_cpu_close(in->cpu);
        for (size_t i = 0; i < in->n_marks; i++)
                mark_finish(&in->marks[i]);
        free(in->marks);
        free(in->phases);
}

unsigned input_levels(struct input *in)
{
        if (in->session)
                return session_levels(in->session);
        if (in->notebook)
                return notebook_levels(in->notebook);
        return in->cpu && hwmon_cpu_samples(in->cpu) > 0 ? LEVEL_BIT((unsigned)LEVEL_SYSTEM) : 0;
}

int input_next_host(struct input *in, const struct host **ret, struct err *err)
{
        if (in->session)
                return session_next_host(in->session, ret, err);
        if (in->cpu)
                return hwmon_cpu_next(in->cpu, ret);
        int got = in->notebook ? notebook_next_host(in->notebook, ret) : 0;
        return got < 0 ? err_set(err, got, "out of memory") : got;
}
