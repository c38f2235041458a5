/* assay dump: running assays write the last minutes that they keep. */
#include "app/flight_setup.h"
#include "base/clock.h"
#include "base/num.h"
#include "cmd/command.h"
#include "engine/dump_runs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* A disk that is slow; one that hangs is not waited for. */
#define PATIENCE_NS (30 * NS_PER_S)
#define CHECK_EVERY_NS (20 * NS_PER_MS)

struct dump_asked {
        struct dump_run_info *runs;
        size_t n;
        int64_t *asked_ns; /* of each; 0 when it could not be asked */
        int status;        /* the worst so far */
};

static int take_pid(const struct config *config, int32_t *ret, struct err *err)
{
        const char *word = config->n_args > 1 ? config->args[1] : NULL;
        uint64_t pid = 0;
        *ret = 0;
        if (config->n_args > 2) {
                err_set(err, ERR_USAGE, "unexpected argument '%s'", config->args[2]);
                return err_hint(err, "one process at a time, or none for all");
        }
        if (!word)
                return 0;
        if (num_parse_u64(word, strlen(word), &pid) && pid > 0 && pid <= INT32_MAX)
                return *ret = (int32_t)pid, 0;
        err_set(err, ERR_USAGE, "'%s' is not the number of a process", word);
        return err_hint(err, "without one, every assay of yours on this host writes a dump");
}

#define WHO_KEEPS "'assay serve', 'record' and 'top' keep one, unless --flight is off"

/* One run, or all. */
static int find_runs(const char *folder, int32_t pid, struct dump_asked *ret, struct err *err)
{
        int r = dump_runs_list(folder, &ret->runs, &ret->n, err);
        if (r < 0)
                return r;
        size_t kept = 0;
        for (size_t i = 0; i < ret->n; i++) {
                if (pid == 0 || ret->runs[i].pid == pid)
                        ret->runs[kept++] = ret->runs[i];
        }
        ret->n = kept;
        if (kept > 0)
                return 0;
        if (pid > 0)
                err_set(err, ERR_NO_SOURCE, "process %d keeps no flight recorder of yours", pid);
        else
                err_set(err, ERR_NO_SOURCE, "no assay of yours keeps a flight recorder here");
        return err_hint(err, WHO_KEEPS);
}

static void note_failure(struct dump_asked *a, const struct err *err)
{
        a->status = MAX(a->status, complain(err));
}

static int request_dumps(struct dump_asked *a, struct err *err)
{
        a->asked_ns = calloc(a->n, sizeof(*a->asked_ns));
        if (!a->asked_ns)
                return err_set(err, -ENOMEM, "out of memory");
        for (size_t i = 0; i < a->n; i++) {
                struct err why = {0};
                int64_t now = clock_mono_ns();
                if (dump_run_request(&a->runs[i], &why) < 0)
                        note_failure(a, &why);
                else
                        a->asked_ns[i] = now;
        }
        return 0;
}

static int print_answer(struct dump_asked *a, const struct dump_run_info *run)
{
        struct strbuf out = {0};
        if (run->file[0]) {
                strbuf_putf(&out, "%s/%s\n", run->folder, run->file);
                int r = print_text(&out);
                strbuf_finish(&out);
                return r;
        }
        struct err why = {0};
        err_set(&why, -EIO, "%s, process %lld: %s", run->program, (long long)run->pid,
                run->error[0] ? run->error : "the dump failed");
        note_failure(a, &why);
        return 0;
}

/* Waits for one that was asked at a time. 0 or a negative code of the output. */
static int await_answer(struct dump_asked *a, const char *folder, const struct dump_run_info *run,
                        int64_t asked_ns)
{
        const struct timespec rest = {.tv_nsec = CHECK_EVERY_NS};
        struct dump_run_info now = *run;
        struct err why = {0};
        while (clock_mono_ns() - asked_ns < PATIENCE_NS) {
                if (!dump_runs_find(folder, (int32_t)run->pid, &now)) {
                        err_set(&why, -ESRCH, "process %lld has ended before it wrote a dump",
                                (long long)run->pid);
                        return note_failure(a, &why), 0;
                }
                if (now.answered_ns >= asked_ns)
                        return print_answer(a, &now);
                nanosleep(&rest, NULL);
        }
        err_set(&why, -ETIMEDOUT, "process %lld has not written a dump within %lld s",
                (long long)run->pid, PATIENCE_NS / NS_PER_S);
        err_hint(&why, "is the disk of '%.200s' full, or does it hang?", run->folder);
        return note_failure(a, &why), 0;
}

static int dump_run(const struct config *config)
{
        char folder[SETUP_PATH_MAX];
        struct dump_asked a = {0};
        struct err err = {0};
        int32_t pid = 0;
        int r = take_pid(config, &pid, &err);
        flight_setup_runs(config, folder);
        if (r == 0 && !folder[0]) {
                r = err_set(&err, ERR_NO_SOURCE, "HOME is not set");
                err_hint(&err, "give the folder that the recorder has: --state DIR");
        }
        if (r == 0)
                r = find_runs(folder, pid, &a, &err);
        if (r == 0)
                r = request_dumps(&a, &err);
        for (size_t i = 0; r == 0 && i < a.n; i++) {
                if (a.asked_ns[i] > 0)
                        r = await_answer(&a, folder, &a.runs[i], a.asked_ns[i]);
        }
        free(a.runs);
        free(a.asked_ns);
        return r < 0 && err.code ? complain(&err) : r < 0 ? EXIT_FAILED : a.status;
}

const struct command command_dump = {
    .name = "dump",
    .args = "[PID]",
    .summary = "write down the last minutes that a running assay keeps",
    .words = WORDS_OWN,
    .examples = {{"assay dump", "every assay of yours on this host"},
                 {"assay dump 4242", "the one that is process 4242"},
                 {"assay report \"$(assay dump 4242)\"", "and what it says"}},
    .run = dump_run,
};
