#include "engine/folder.h"

#include "base/attr.h"
#include "base/clock.h"
#include "base/lookup.h"
#include "base/tally.h"
#include "compute/ranks/group.h"
#include "formats/hwmon/hwmon.h"
#include "formats/notebook/notebook.h"
#include "session/facts.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define ENDING ".assay"

static int is_session_name(const struct dirent *e)
{
        size_t len = strlen(e->d_name), end = strlen(ENDING);
        return len > end && e->d_name[0] != '.' && strcmp(e->d_name + len - end, ENDING) == 0;
}

static int by_version(const struct dirent **a, const struct dirent **b)
{
        return strverscmp((*a)->d_name, (*b)->d_name);
}

/* "rank-0003.assay" is try 1 of its rank, "rank-0003-2.assay" try 2; 0 for other names. */
static long try_of(const char *name, long *ret_rank)
{
        char *end;
        if (strncmp(name, "rank-", 5) != 0)
                return 0;
        *ret_rank = strtol(name + 5, &end, 10);
        if (end == name + 5)
                return 0;
        if (strcmp(end, ENDING) == 0)
                return 1;
        long try = *end == '-' ? strtol(end + 1, &end, 10) : 0;
        return strcmp(end, ENDING) == 0 ?
        try:
                0;
}

/* How often a rank was recorded, for all that have such names. */
struct tries {
        struct rank_try {
                long rank, try;
        } * list;
        size_t n;
};

static int compare_tries(const void *a, const void *b)
{
        const struct rank_try *x = a, *y = b;
        if (x->rank != y->rank)
                return (x->rank > y->rank) - (x->rank < y->rank);
        return (x->try > y->try) - (x->try < y->try);
}

/* Sorted: the last of a rank is the newest. -ENOMEM leaves none, and all are taken. */
static int tries_list(struct dirent **names, int n, struct tries *ret)
{
        *ret = (struct tries){.list = calloc((size_t)n + 1, sizeof(*ret->list))};
        for (int i = 0; ret->list && i < n; i++) {
                long rank, try = try_of(names[i]->d_name, &rank);
                if (try > 0)
                        ret->list[ret->n++] = (struct rank_try){rank, try};
        }
        if (ret->n > 1)
                qsort(ret->list, ret->n, sizeof(*ret->list), compare_tries);
        return ret->list ? 0 : -ENOMEM;
}

static bool is_recorded_again(const struct tries *t, const char *name)
{
        struct rank_try key;
        key.try = try_of(name, &key.rank);
        if (key.try == 0)
                return false;
        const struct rank_try *at = bsearch(&key, t->list, t->n, sizeof(*t->list), compare_tries);
        while (at && at + 1 < t->list + t->n && at[1].rank == key.rank && at[1].try == key.try)
                at++;
        return at && at + 1 < t->list + t->n && at[1].rank == key.rank;
}

/* In a folder that all may write to, others could add ranks to the job. */
static bool is_foreign(const struct stat *folder, const struct stat *file)
{
        return file->st_uid != geteuid() && file->st_uid != folder->st_uid;
}

/* ---- what each says of itself ---- */

static int compare_hashes(const void *a, const void *b)
{
        const uint64_t *x = a, *y = b;
        return (*x > *y) - (*x < *y);
}

/* UUIDs last; where there is none the node's name and the GPU's number have to do. */
static int identify_gpus(struct session_reader *r, struct run_identity *ret)
{
        size_t n = session_entities(r);
        ret->gpus = calloc(n + 1, sizeof(*ret->gpus));
        for (size_t i = 0; ret->gpus && i < n; i++) {
                const struct entity *e = session_entity(r, i);
                char name[ENTITY_TEXT_MAX + sizeof(ret->node) + ENTITY_LABEL_MAX];
                snprintf(name, sizeof(name), "%s/%s", ret->node, e->label);
                if (e->text[ENTITY_TEXT_UUID][0])
                        snprintf(name, sizeof(name), "%s", e->text[ENTITY_TEXT_UUID]);
                ret->gpus[ret->n_gpus++] = hash_stable(name, strlen(name));
        }
        if (ret->n_gpus > 1)
                qsort(ret->gpus, ret->n_gpus, sizeof(*ret->gpus), compare_hashes);
        return ret->gpus ? 0 : -ENOMEM;
}

static int identify_file(const char *path, struct run_identity *ret)
{
        struct session_reader *r = NULL;
        struct run_facts facts;
        *ret = (struct run_identity){0};
        if (session_open(path, &r, NULL) < 0)
                return 0;
        facts_init(&facts, path);
        facts_from_session(&facts, r);
        const char *command = session_text(r, "command");
        ret->command = command ? hash_stable(command, strlen(command)) | 1 : 0;
        snprintf(ret->job, sizeof(ret->job), "%s", facts.job);
        snprintf(ret->node, sizeof(ret->node), "%.63s", facts.host);
        ret->rank = facts.rank;
        ret->world = facts.world;
        ret->start_ns = facts.start_ns;
        ret->end_ns = facts.stop_ns ? facts.stop_ns : session_last_ns(r);
        ret->readable = true;
        int code = identify_gpus(r, ret);
        facts_finish(&facts);
        session_reader_close(r);
        return code;
}

/* ---- what they are together ---- */

static void leave_out(struct folder *f, size_t at, struct tally *left_out, const char *why)
{
        tally_add(left_out, f->paths[at], why);
        free(f->paths[at]);
        f->paths[at] = NULL;
}

/* The group that more than half of all readable recordings are ranks of; n for none. */
static size_t find_main_job(const struct run_identity *runs, size_t n, const size_t *group)
{
        size_t readable = 0;
        for (size_t i = 0; i < n; i++)
                readable += runs[i].readable && group[i] != GROUP_COPY;
        for (size_t at = 0; at < n; at++) {
                size_t members = 0;
                for (size_t i = at; i < n; i++)
                        members += group[i] == at;
                if (2 * members > readable && runs_group_is_job(runs, n, group, at))
                        return at;
        }
        return n;
}

/* Closes the gaps that left out files leave. group: of all files that there were. */
static void close_gaps(struct folder *f, const struct run_identity *runs, const size_t *group,
                       size_t *place)
{
        size_t n = 0;
        for (size_t i = 0; i < f->n; i++) {
                if (!f->paths[i])
                        continue;
                place[i] = n;
                f->is_job[n] = runs_group_is_job(runs, f->n, group, group[i]);
                f->group[n] = place[group[i]];
                f->paths[n++] = f->paths[i];
        }
        f->n = n;
}

static void decide_groups(struct folder *f, const struct run_identity *runs, size_t *group,
                          size_t *place)
{
        runs_group(runs, f->n, group);
        size_t job = find_main_job(runs, f->n, group);
        struct tally left_out = {0};
        f->kind = job < f->n ? FOLDER_JOB : FOLDER_RUNS;
        for (size_t i = 0; i < f->n; i++) {
                if (group[i] == GROUP_COPY)
                        leave_out(f, i, &left_out, "a copy of another");
                else if (f->kind == FOLDER_JOB && runs[i].readable && group[i] != job)
                        leave_out(f, i, &left_out, "it is no rank of this job");
                else if (runs[i].readable && (f->start_ns == 0 || runs[i].start_ns < f->start_ns))
                        f->start_ns = runs[i].start_ns;
        }
        tally_write(&left_out, &f->notices);
        close_gaps(f, runs, group, place);
}

/* Of the paths that are listed. Too many are the reader's to refuse. */
static int group_runs(struct folder *f)
{
        size_t n = f->n;
        struct run_identity *runs = calloc(n + 1, sizeof(*runs));
        size_t *group = calloc(n + 1, sizeof(*group)), *place = calloc(n + 1, sizeof(*place));
        f->group = calloc(n + 1, sizeof(*f->group));
        f->is_job = calloc(n + 1, sizeof(*f->is_job));
        int r = runs && group && place && f->group && f->is_job ? 0 : -ENOMEM;
        f->kind = n > 0 ? FOLDER_RUNS : FOLDER_NONE;
        for (size_t i = 0; r == 0 && n <= JOB_RANKS_MAX && i < n; i++)
                r = identify_file(f->paths[i], &runs[i]);
        if (r == 0 && n > 0 && n <= JOB_RANKS_MAX)
                decide_groups(f, runs, group, place);
        for (size_t i = 0; runs && i < n; i++)
                free(runs[i].gpus);
        free(runs);
        free(group);
        free(place);
        return r;
}

/* ---- which files ---- */

static int folder_add(struct folder *f, const char *path)
{
        f->paths[f->n] = strdup(path);
        return f->paths[f->n] ? (f->n++, 0) : -ENOMEM;
}

struct scan {
        const char *path;
        struct stat st;
        struct dirent **names;
        int n;
        size_t again, foreign;
};

static int scan_add(struct folder *f, struct scan *s, const char *name)
{
        char full[4200];
        struct stat st;
        if (snprintf(full, sizeof(full), "%s/%s", s->path, name) >= (int)sizeof(full) ||
            stat(full, &st) < 0 || !S_ISREG(st.st_mode))
                return 0;
        if (is_foreign(&s->st, &st)) {
                s->foreign++;
                return 0;
        }
        return folder_add(f, full);
}

static int scan_all(struct folder *f, struct scan *s)
{
        struct tries tries;
        int r = tries_list(s->names, s->n, &tries);
        for (int i = 0; r == 0 && i < s->n; i++) {
                if (is_recorded_again(&tries, s->names[i]->d_name))
                        s->again++;
                else
                        r = scan_add(f, s, s->names[i]->d_name);
        }
        free(tries.list);
        if (s->again > 0)
                strbuf_putf(&f->notices,
                            "%zu older recording%s of ranks that were started again, skipping\n",
                            s->again, s->again == 1 ? "" : "s");
        if (s->foreign > 0)
                strbuf_putf(&f->notices, "%zu recording%s of other users, skipping\n", s->foreign,
                            s->foreign == 1 ? "" : "s");
        return r;
}

/* The paths alone. */
static int folder_list(const char *path, struct folder *ret)
{
        struct scan s = {.path = path};
        char file[4200];
        *ret = (struct folder){0};
        if (stat(path, &s.st) < 0 || !S_ISDIR(s.st.st_mode) ||
            hwmon_is_one(path, file, sizeof(file)) || notebook_is_one(path))
                return 0;
        s.n = MAX(scandir(path, &s.names, is_session_name, by_version), 0);
        ret->paths = calloc((size_t)s.n + 1, sizeof(*ret->paths));
        int r = ret->paths ? scan_all(ret, &s) : -ENOMEM;
        for (int i = 0; i < s.n; i++)
                free(s.names[i]);
        free(s.names);
        return r;
}

int folder_read(const char *path, struct folder *ret)
{
        int r = folder_list(path, ret);
        if (r == 0)
                r = group_runs(ret);
        if (r < 0)
                folder_finish(ret);
        return r;
}

bool folder_is_one(const char *path)
{
        struct folder f;
        bool any = folder_list(path, &f) == 0 && f.n > 0;
        folder_finish(&f);
        return any;
}

int folder_check_related(const struct folder *f, const char *path, struct err *err)
{
        if (f->kind != FOLDER_RUNS || f->n < 2)
                return 0;
        err_set(err, ERR_USAGE, "'%s' has %zu recordings that are no ranks of one job", path, f->n);
        return err_hint(err, "'assay report %s' lists them: give one of them", path);
}

int folder_of_files(const char *const *paths, size_t n, struct folder *ret)
{
        *ret = (struct folder){.paths = calloc(n + 1, sizeof(*ret->paths))};
        int r = ret->paths ? 0 : -ENOMEM;
        for (size_t i = 0; r == 0 && i < n; i++)
                r = folder_add(ret, paths[i]);
        if (r == 0)
                r = group_runs(ret);
        if (r < 0)
                folder_finish(ret);
        return r;
}

void folder_finish(struct folder *f)
{
        for (size_t i = 0; i < f->n; i++)
                free(f->paths[i]);
        free(f->paths);
        free(f->group);
        free(f->is_job);
        strbuf_finish(&f->notices);
        *f = (struct folder){0};
}
