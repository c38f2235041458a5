/* Which files are a job's. */
#include "engine/job_files.h"

#include "base/attr.h"
#include "formats/hwmon/hwmon.h"
#include "formats/notebook/notebook.h"

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

static bool is_recorded_again(struct dirent **names, int n, int at)
{
        long rank, other, try = try_of(names[at]->d_name, &rank);
        for (int i = 0; try > 0 && i < n; i++) {
                if (try_of(names[i]->d_name, &other) > try && other == rank)
                        return true;
        }
        return false;
}

/* In a folder that all may write to, others could add ranks to the job. */
static bool is_foreign(const struct stat *folder, const struct stat *file)
{
        return file->st_uid != geteuid() && file->st_uid != folder->st_uid;
}

static int job_files_add(struct job_files *f, const struct stat *folder, const char *path,
                         const char *name)
{
        char full[4200];
        struct stat st;
        if (snprintf(full, sizeof(full), "%s/%s", path, name) >= (int)sizeof(full) ||
            stat(full, &st) < 0 || !S_ISREG(st.st_mode))
                return 0;
        if (is_foreign(folder, &st)) {
                f->foreign++;
                return 0;
        }
        f->paths[f->n] = strdup(full);
        if (!f->paths[f->n])
                return -ENOMEM;
        f->n++;
        return 0;
}

int job_files_list(const char *path, struct job_files *ret)
{
        struct stat st;
        struct dirent **names = NULL;
        char file[4200];
        int r = 0;
        *ret = (struct job_files){0};
        if (stat(path, &st) < 0 || !S_ISDIR(st.st_mode) || hwmon_is_one(path, file, sizeof(file)) ||
            notebook_is_one(path))
                return 0;
        int n = scandir(path, &names, is_session_name, by_version);
        n = MAX(n, 0);
        ret->paths = calloc((size_t)n + 1, sizeof(*ret->paths));
        r = ret->paths ? 0 : -ENOMEM;
        for (int i = 0; i < n; i++) {
                bool again = r == 0 && is_recorded_again(names, n, i);
                ret->again += again;
                if (r == 0 && !again)
                        r = job_files_add(ret, &st, path, names[i]->d_name);
        }
        for (int i = 0; i < n; i++)
                free(names[i]);
        free(names);
        if (r < 0)
                job_files_finish(ret);
        return r;
}

void job_files_finish(struct job_files *f)
{
        for (size_t i = 0; i < f->n; i++)
                free(f->paths[i]);
        free(f->paths);
        *f = (struct job_files){0};
}
