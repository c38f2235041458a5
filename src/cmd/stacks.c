/* assay stacks: what programs are doing now, down to the line. */
#include "app/input.h"
#include "app/stack_snapshot.h"
#include "base/num.h"
#include "cmd/command.h"
#include "present/stream/stack_snapshot.h"
#include "present/text/stack_snapshot.h"

#include <errno.h>
#include <string.h>

/* What is examined: a process, a file, or (both empty) what holds a GPU. */
struct stacks_of {
        int32_t pid;
        const char *file;
};

static int take_number(const char *word, struct stacks_of *ret, struct err *err)
{
        uint64_t pid;
        if (num_parse_u64(word, strlen(word), &pid) && pid > 0 && pid <= INT32_MAX)
                return ret->pid = (int32_t)pid, 0;
        err_set(err, ERR_USAGE, "'%s' is not the number of a process", word);
        return err_hint(err, "a file of that name: ./%s", word);
}

static int take_word(const struct config *config, struct stacks_of *ret, struct err *err)
{
        const char *word = config->n_args > 1 ? config->args[1] : NULL;
        if (config->n_args > 2 || config->n_rest > 0) {
                err_set(err, ERR_USAGE, "unexpected argument '%s'",
                        config->n_args > 2 ? config->args[2] : config->rest[0]);
                return err_hint(err, "one process or one recording at a time");
        }
        if (!word)
                return 0;
        if (word[0] && strspn(word, "0123456789") == strlen(word))
                return take_number(word, ret, err);
        if (!input_is_recording(word) || strcmp(word, "-") == 0) {
                err_set(err, ERR_USAGE, "'%s' has no stacks", word);
                return err_hint(err, "give the number of a process, or a session");
        }
        if (access(word, F_OK) < 0 && errno == ENOENT) {
                err_set(err, ERR_NO_SOURCE, "no such file: '%s'", word);
                return err_hint(err, "give the number of a process, or a session");
        }
        ret->file = word;
        return 0;
}

/* Other hosts are asked for what holds their GPUs. */
static int check_nodes(const struct config *config, const struct stacks_of *of, struct err *err)
{
        static const enum option own[] = {OPT_AT, OPT_GPUS, OPT_NVML_LIB};
        static const enum option theirs[] = {OPT_SSH, OPT_REMOTE_ASSAY};
        if (!setup_reads_nodes(config))
                return config_refuse(config, theirs, ARRAY_LEN(theirs), "is for other hosts",
                                     "add --hosts or --slurm, or leave it out", err);
        if (of->pid > 0 || of->file) {
                err_set(err, ERR_USAGE, "other hosts, and '%s'", config->args[1]);
                return err_hint(err, "leave out one of them");
        }
        return config_refuse(config, own, ARRAY_LEN(own), "is not for other hosts", "leave it out",
                             err);
}

static int check_use(const struct config *config, const struct stacks_of *of, struct err *err)
{
        int r = check_nodes(config, of, err);
        if (r < 0 || setup_reads_nodes(config))
                return r;
        static const enum option moment[] = {OPT_AT};
        return of->file ? 0
                        : config_refuse(config, moment, ARRAY_LEN(moment), "is for a recording",
                                        "leave it out, or name a session", err);
}

/* Nobody asked for these processes by name, so it is said which they are. */
static void print_whose(enum snapshot_whose whose)
{
        if (whose == SNAPSHOT_OF_USER)
                notice("no process holds a GPU here: the Python processes of this user");
}

static int take_snapshot(const struct config *config, const struct stacks_of *of,
                         struct stack_snapshot *snapshot, struct err *err)
{
        struct strbuf notices = {0};
        enum snapshot_whose whose;
        double at = config_is_set(config, OPT_AT) ? config_number(config, OPT_AT) : -1;
        if (of->file)
                return snapshot_recorded(of->file, at, snapshot, err);
        if (setup_reads_nodes(config))
                return snapshot_nodes(config, snapshot, err);
        int r = snapshot_now(config, of->pid, snapshot, &whose, &notices, err);
        print_notices(&notices);
        if (r == 0)
                print_whose(whose);
        strbuf_finish(&notices);
        return r;
}

static int write_snapshot(const struct config *config, const struct stack_snapshot *snapshot,
                          const struct stacks_of *of, struct err *err)
{
        struct strbuf out = {0};
        bool json = strcmp(config_text(config, OPT_FORMAT), "json") == 0;
        int r = json ? snapshot_write_json(snapshot, program_version, &out)
                     : snapshot_write_text(snapshot, config_flag(config, OPT_ALL), &out);
        if (r < 0)
                r = err_set(err, r, "out of memory");
        else
                r = write_out(config, of->file, &out, err);
        strbuf_finish(&out);
        return r;
}

/* Whether at least one of them could be read, or is not a Python at all. */
static bool is_some_read(const struct stack_snapshot *l)
{
        for (size_t i = 0; i < l->n_processes; i++) {
                const struct snapshot_process *p = &l->processes[i];
                if (p->is.access == STACK_READABLE || p->is.access == STACK_NO_RUNTIME ||
                    l->is_recorded)
                        return true;
        }
        return false;
}

static int stacks_run(const struct config *config)
{
        struct err err = {0};
        struct stacks_of of = {0};
        struct stack_snapshot snapshot = {0};
        int r = take_word(config, &of, &err);
        if (r == 0)
                r = check_use(config, &of, &err);
        if (r == 0)
                r = take_snapshot(config, &of, &snapshot, &err);
        if (r == 0)
                r = write_snapshot(config, &snapshot, &of, &err);
        bool some = r == 0 && is_some_read(&snapshot);
        stack_snapshot_finish(&snapshot);
        return r < 0 ? complain(&err) : some ? EXIT_FINE : EXIT_FAILED;
}

const struct command command_stacks = {
    .name = "stacks",
    .args = "[PID|FILE]",
    .summary = "show the line that each thread is in",
    .words = WORDS_OWN,
    .examples = {{"assay stacks", "of the processes that hold a GPU, now"},
                 {"assay stacks 4711 --all", "every frame of a process and its children"},
                 {"assay stacks --slurm 4242", "ranks of a job; those in one place once"}},
    .run = stacks_run,
};
