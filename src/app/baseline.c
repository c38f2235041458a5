#include "app/baseline.h"

#include "app/summarise.h"
#include "base/clock.h"
#include "base/outfile.h"
#include "present/format.h"
#include "session/session.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void baseline_finish(struct baseline *b)
{
        for (size_t i = 0; i < b->n; i++)
                free(b->paths[i]);
        b->n = 0;
}

int baseline_folder(const char *dir, const char *(*get_env)(const char *name),
                    char ret[BASELINE_PATH_MAX], struct err *err)
{
        const char *data = get_env("XDG_DATA_HOME"), *home = get_env("HOME");
        int n = -1;
        if (dir)
                n = snprintf(ret, BASELINE_PATH_MAX, "%s", dir);
        else if (data && data[0] == '/')
                n = snprintf(ret, BASELINE_PATH_MAX, "%s/assay/baselines", data);
        else if (home && home[0])
                n = snprintf(ret, BASELINE_PATH_MAX, "%s/.local/share/assay/baselines", home);
        if (n > 0 && n < BASELINE_PATH_MAX - BASELINE_NAME_MAX - 32)
                return 0;
        err_set(err, ERR_USAGE, "no folder for baselines");
        return err_hint(err, "give --baselines DIR");
}

/* A name is a folder's: nothing that leads elsewhere, or that ls hides. */
static int check_name(const char *name, struct err *err)
{
        size_t len = strlen(name);
        bool fine = len > 0 && len < BASELINE_NAME_MAX && isalnum((unsigned char)name[0]);
        for (size_t i = 0; fine && i < len; i++)
                fine = isalnum((unsigned char)name[i]) || strchr("._-", name[i]);
        if (fine)
                return 0;
        err_set(err, ERR_USAGE, "'%s' is not a name for a baseline", name);
        return err_hint(err, "use up to %d letters, digits, dots, dashes and underscores",
                        BASELINE_NAME_MAX - 1);
}

static int no_access(const char *what, const char *path, struct err *err)
{
        int code = -errno;
        return err_set(err, code, "cannot %s '%s': %s", what, path, strerror(-code));
}

/* Makes all folders of a path. */
static int make_folders(const char *path, struct err *err)
{
        char part[BASELINE_PATH_MAX + BASELINE_NAME_MAX];
        snprintf(part, sizeof(part), "%s", path);
        for (char *s = part + 1;; s++) {
                char c = *s;
                if (c != '/' && c != '\0')
                        continue;
                *s = '\0';
                if (mkdir(part, 0777) < 0 && errno != EEXIST)
                        return no_access("make the folder", part, err);
                *s = c;
                if (c == '\0')
                        return 0;
        }
}

#define DIGITS 4
#define ENDING_MAX 16

/* Names of ours: "0001.assay". What else is in the folder is somebody's, and stays. */
static int is_run(const struct dirent *e)
{
        const char *name = e->d_name;
        return strspn(name, "0123456789") == DIGITS &&
               (name[DIGITS] == '\0' || name[DIGITS] == '.') &&
               strlen(name) < DIGITS + ENDING_MAX &&
               (e->d_type == DT_REG || e->d_type == DT_UNKNOWN);
}

/* A link in the place of a baseline leads to files of another user. */
static bool is_link(const char *dir)
{
        struct stat st;
        return lstat(dir, &st) == 0 && S_ISLNK(st.st_mode);
}

static int copy_all(int from, int to)
{
        char buf[65536];
        ssize_t n;
        while ((n = read(from, buf, sizeof(buf))) > 0) {
                for (ssize_t done = 0, k; done < n; done += k) {
                        k = write(to, buf + done, (size_t)(n - done));
                        if (k < 0)
                                return -errno;
                }
        }
        return n < 0 ? -errno : fsync(to) < 0 ? -errno : 0;
}

/* What follows the last dot says nothing, but people rely on it. */
static const char *file_extension(const char *file)
{
        const char *slash = strrchr(file, '/'), *dot = strrchr(slash ? slash : file, '.');
        return dot && strlen(dot) < ENDING_MAX ? dot : "";
}

/* The first number that is free; two that add at once get two. */
static int place_copy(const char *dir, const char *part, const char *file, struct err *err)
{
        char path[BASELINE_PATH_MAX + 2 * BASELINE_NAME_MAX];
        for (int i = 1; i <= BASELINE_RUNS_MAX; i++) {
                snprintf(path, sizeof(path), "%s/%0*d%s", dir, DIGITS, i, file_extension(file));
                if (link(part, path) == 0)
                        return 0;
                if (errno != EEXIST)
                        return no_access("make", path, err);
        }
        err_set(err, ERR_USAGE, "the baseline has %d runs already", BASELINE_RUNS_MAX);
        return err_hint(err, "remove it first: assay baseline rm NAME");
}

/* What a recording has to compare. */
struct content {
        uint64_t samples; /* of the GPUs and of the host */
        uint64_t marks;
};

static int count_content(const struct config *config, const char *file, struct content *ret,
                         struct err *err)
{
        struct run_summary *r = calloc(1, sizeof(*r));
        if (!r)
                return err_set(err, -ENOMEM, "out of memory");
        int code = run_summary_read(r, config, file, "text", err);
        if (code == 0) {
                const struct scope *all = &r->summary.scopes[0];
                *ret = (struct content){all->ticks + all->level.samples, r->in.n_marks};
        }
        run_summary_finish(r);
        free(r);
        return code;
}

static int require_content(const struct config *config, const char *file, struct content *ret,
                           struct err *err)
{
        int code = count_content(config, file, ret, err);
        if (code < 0 || ret->samples + ret->marks > 0)
                return code;
        err_set(err, ERR_DATA, "'%s' has no samples to compare with", file);
        return err_hint(err, "if it is being recorded, wait until it has some");
}

int baseline_check(const struct config *config, const char *file, struct err *err)
{
        struct content content = {0};
        return require_content(config, file, &content, err);
}

/* A recording may grow meanwhile, but a copy that has less is none. */
static int copy_session(const struct config *config, const char *file, const char *part,
                        struct err *err)
{
        struct content before = {0}, copied = {0};
        int code = require_content(config, file, &before, err);
        if (code == 0)
                code = session_copy(file, part, err);
        if (code == 0)
                code = count_content(config, part, &copied, err);
        if (code < 0 || (copied.samples >= before.samples && copied.marks >= before.marks))
                return code;
        err_set(err, ERR_DATA, "the copy of '%s' lacks %llu of %llu samples and %llu of %llu marks",
                file, (unsigned long long)(before.samples - MIN(copied.samples, before.samples)),
                (unsigned long long)before.samples,
                (unsigned long long)(before.marks - MIN(copied.marks, before.marks)),
                (unsigned long long)before.marks);
        return err_hint(err, "the file may be damaged, or its recorder still writes; try again "
                             "when it has ended");
}

static int copy_capture(const char *file, int to, struct err *err)
{
        CLEANUP(closep) int from = open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
        if (from < 0)
                return no_access("read", file, err);
        int code = copy_all(from, to);
        return code < 0 ? err_set(err, code, "cannot copy '%s': %s", file, strerror(-code)) : 0;
}

static int check_source(const char *file, struct err *err)
{
        struct stat st;
        if (stat(file, &st) < 0)
                return no_access("read", file, err);
        if (S_ISREG(st.st_mode))
                return 0;
        err_set(err, ERR_USAGE, "'%s' is not a file", file);
        return err_hint(err, "a baseline is made of files: sessions or captures");
}

/* The folder of a name, made if need be. */
static int make_baseline(const char *folder, const char *name, char *ret, size_t size,
                         struct err *err)
{
        snprintf(ret, size, "%s/%s", folder, name);
        if (is_link(ret)) {
                err_set(err, ERR_USAGE, "'%s' is a link, and no baseline", ret);
                return err_hint(err, "remove it, or choose another name");
        }
        int code = outfile_check_folder(ret, err);
        return code < 0 ? code : make_folders(ret, err);
}

int baseline_add(const struct config *config, const char *folder, const char *name,
                 const char *file, struct err *err)
{
        char dir[BASELINE_PATH_MAX + BASELINE_NAME_MAX], part[sizeof(dir) + 16];
        int code = check_name(name, err);
        if (code == 0)
                code = check_source(file, err);
        if (code == 0)
                code = make_baseline(folder, name, dir, sizeof(dir), err);
        if (code < 0)
                return code;
        snprintf(part, sizeof(part), "%s/.part-XXXXXX", dir);
        CLEANUP(closep) int to = mkostemp(part, O_CLOEXEC);
        if (to < 0)
                return no_access("make", part, err);
        code = session_is_one(file) ? copy_session(config, file, part, err)
                                    : copy_capture(file, to, err);
        if (code == 0)
                code = place_copy(dir, part, file, err);
        unlink(part);
        return code;
}

static int unknown_name(const char *folder, const char *name, struct err *err)
{
        err_set(err, ERR_USAGE, "no baseline '%s' in '%s'", name, folder);
        return err_hint(err,
                        "'assay baseline list' shows which there are, "
                        "'assay baseline add %s FILE' makes it",
                        name);
}

/* The files of a name in order; -ENOENT when it has none. */
static int scan_versions(const char *folder, const char *name, struct dirent ***ret)
{
        char dir[BASELINE_PATH_MAX + BASELINE_NAME_MAX];
        snprintf(dir, sizeof(dir), "%s/%s", folder, name);
        int n = is_link(dir) ? 0 : scandir(dir, ret, is_run, alphasort);
        if (n == 0 && *ret)
                free(*ret);
        return n > 0 ? n : -ENOENT;
}

int baseline_find(const char *folder, const char *name, struct baseline *ret, struct err *err)
{
        struct dirent **names = NULL;
        *ret = (struct baseline){0};
        int code = check_name(name, err);
        int n = code == 0 ? scan_versions(folder, name, &names) : 0;
        if (n < 0)
                return unknown_name(folder, name, err);
        for (int i = 0; i < n; i++) {
                char *path = NULL;
                if (ret->n < BASELINE_RUNS_MAX && code == 0 &&
                    asprintf(&path, "%s/%s/%s", folder, name, names[i]->d_name) < 0)
                        code = err_set(err, -ENOMEM, "out of memory");
                else if (path)
                        ret->paths[ret->n++] = path;
                free(names[i]);
        }
        free(names);
        return code;
}

static int is_name(const struct dirent *e)
{
        return check_name(e->d_name, NULL) == 0;
}

static void put_name(const char *folder, const char *name, struct strbuf *out)
{
        char path[BASELINE_PATH_MAX + BASELINE_NAME_MAX + 256], when[FORMAT_MAX];
        struct dirent **runs = NULL;
        struct stat st;
        int n = scan_versions(folder, name, &runs);
        if (n < 0)
                return;
        snprintf(path, sizeof(path), "%s/%s/%s", folder, name, runs[n - 1]->d_name);
        if (stat(path, &st) == 0) {
                format_minute(when, sizeof(when), clock_from_seconds((double)st.st_mtime));
                strbuf_putf(out, "%-24s %2d run%s  %s\n", name, n, n == 1 ? " " : "s", when);
        }
        for (int i = 0; i < n; i++)
                free(runs[i]);
        free(runs);
}

int baseline_list(const char *folder, struct strbuf *out, struct err *err)
{
        struct dirent **names = NULL;
        int n = scandir(folder, &names, is_name, alphasort);
        if (n < 0 && errno != ENOENT)
                return no_access("read", folder, err);
        for (int i = 0; i < n; i++) {
                put_name(folder, names[i]->d_name, out);
                free(names[i]);
        }
        free(names);
        return out->failed ? err_set(err, -ENOMEM, "out of memory") : 0;
}

int baseline_remove(const char *folder, const char *name, struct err *err)
{
        char dir[BASELINE_PATH_MAX + BASELINE_NAME_MAX];
        struct baseline b;
        int code = baseline_find(folder, name, &b, err);
        for (size_t i = 0; code == 0 && i < b.n; i++) {
                if (unlink(b.paths[i]) < 0)
                        code = no_access("remove", b.paths[i], err);
        }
        baseline_finish(&b);
        snprintf(dir, sizeof(dir), "%s/%s", folder, name);
        /* Files of someone else's in it stay, and the folder with them. */
        if (code == 0)
                rmdir(dir);
        return code;
}
