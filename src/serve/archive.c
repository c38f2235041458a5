#include "serve/archive.h"

#include "base/clock.h"
#include "base/lookup.h"
#include "life/thread.h"
#include "present/stream/json.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define ENDING ".assay"
#define FILES_MAX 500
#define REPORTS 8 /* kept; the one that was asked for longest ago goes first */
#define NAME_LEN 256
#define PATH_LEN 4096

struct kept {
        char name[NAME_LEN];
        int64_t modified_ns; /* of the file, when it was read */
        int64_t asked_ns;    /* 0: free */
        bool done, failed;
        struct strbuf text;
};

struct archive {
        char dir[PATH_LEN - NAME_LEN - 1];
        int (*report)(void *arg, const char *path, struct strbuf *out);
        void *arg;
        pthread_t thread;
        pthread_mutex_t lock;
        pthread_cond_t wake;
        bool stop;
        struct kept kept[REPORTS];
};

struct file {
        char name[NAME_LEN];
        int64_t size, modified_ns;
};

static uint64_t archive_number_of(const char *name)
{
        return hash_stable(name, strlen(name));
}

static int newest_first(const void *a, const void *b)
{
        int64_t x = ((const struct file *)a)->modified_ns,
                y = ((const struct file *)b)->modified_ns;
        return x < y ? 1 : x > y ? -1 : 0;
}

/* Plain files with the ending of recordings; links are not followed. Owned by the caller. */
static struct file *read_folder(struct archive *a, size_t *ret_n)
{
        DIR *dir = opendir(a->dir);
        struct file *list = dir ? calloc(FILES_MAX, sizeof(*list)) : NULL;
        size_t n = 0;
        for (struct dirent *e; list && n < FILES_MAX && (e = readdir(dir));) {
                struct stat st;
                size_t len = strlen(e->d_name), end = strlen(ENDING);
                if (len <= end || len >= NAME_LEN || e->d_name[0] == '.' ||
                    strcmp(e->d_name + len - end, ENDING) != 0 ||
                    fstatat(dirfd(dir), e->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
                    !S_ISREG(st.st_mode))
                        continue;
                memcpy(list[n].name, e->d_name, len + 1);
                list[n].size = st.st_size;
                list[n++].modified_ns = st.st_mtim.tv_sec * NS_PER_S + st.st_mtim.tv_nsec;
        }
        if (dir)
                closedir(dir);
        if (list)
                qsort(list, n, sizeof(*list), newest_first);
        *ret_n = n;
        return list;
}

void archive_list(struct archive *a, struct jsonw *j)
{
        size_t n = 0;
        CLEANUP(freep) struct file *list = read_folder(a, &n);
        jsonw_array(j, "sessions");
        for (size_t i = 0; list && i < n; i++) {
                char id[20];
                snprintf(id, sizeof(id), "%016" PRIx64, archive_number_of(list[i].name));
                jsonw_line(j);
                jsonw_object(j, NULL);
                jsonw_text(j, "id", id);
                jsonw_text(j, "name", list[i].name);
                jsonw_whole(j, "size", list[i].size);
                jsonw_number(j, "time", clock_to_seconds(list[i].modified_ns));
                jsonw_end(j);
        }
        jsonw_end(j);
}

static bool find_file(struct archive *a, const char *id, struct file *ret)
{
        size_t n = 0;
        CLEANUP(freep) struct file *list = read_folder(a, &n);
        for (size_t i = 0; list && i < n; i++) {
                char text[20];
                snprintf(text, sizeof(text), "%016" PRIx64, archive_number_of(list[i].name));
                if (strcmp(text, id) == 0) {
                        *ret = list[i];
                        return true;
                }
        }
        return false;
}

/* The place of a file's report, made when there is none. Called with the lock held. */
static struct kept *archive_keep(struct archive *a, const struct file *f)
{
        struct kept *oldest = NULL;
        for (size_t i = 0; i < REPORTS; i++) {
                struct kept *k = &a->kept[i];
                if (k->asked_ns && strcmp(k->name, f->name) == 0 &&
                    (!k->done || k->modified_ns == f->modified_ns))
                        return k;
                bool busy = k->asked_ns && !k->done;
                if (!busy && (!oldest || k->asked_ns < oldest->asked_ns))
                        oldest = k;
        }
        if (!oldest)
                return NULL;
        strbuf_finish(&oldest->text);
        *oldest = (struct kept){.modified_ns = f->modified_ns};
        memcpy(oldest->name, f->name, NAME_LEN);
        return oldest;
}

enum archive_result archive_report(struct archive *a, const char *id, struct strbuf *out)
{
        struct file f;
        if (!find_file(a, id, &f))
                return ARCHIVE_NONE;
        pthread_mutex_lock(&a->lock);
        struct kept *k = archive_keep(a, &f);
        enum archive_result result = !k || !k->done ? ARCHIVE_LATER
                                     : k->failed    ? ARCHIVE_FAILED
                                                    : ARCHIVE_EXISTS;
        if (k)
                k->asked_ns = clock_mono_ns();
        pthread_cond_signal(&a->wake);
        if (result == ARCHIVE_EXISTS)
                strbuf_put(out, k->text.s, k->text.len);
        pthread_mutex_unlock(&a->lock);
        return result;
}

/* --- the thread ---------------------------------------------------------------------------------
 */

static struct kept *next_one(struct archive *a)
{
        for (size_t i = 0; i < REPORTS; i++) {
                if (a->kept[i].asked_ns && !a->kept[i].done)
                        return &a->kept[i];
        }
        return NULL;
}

static void *run_archive(void *arg)
{
        struct archive *a = arg;
        pthread_mutex_lock(&a->lock);
        while (!a->stop) {
                struct kept *k = next_one(a);
                if (!k) {
                        pthread_cond_wait(&a->wake, &a->lock);
                        continue;
                }
                char path[PATH_LEN];
                struct strbuf out = {0};
                snprintf(path, sizeof(path), "%s/%s", a->dir, k->name);
                pthread_mutex_unlock(&a->lock);
                int r = a->report(a->arg, path, &out);
                pthread_mutex_lock(&a->lock);
                k->text = out;
                k->failed = r < 0 || out.failed;
                k->done = true;
        }
        pthread_mutex_unlock(&a->lock);
        return NULL;
}

struct archive *archive_open(const char *dir,
                             int (*report)(void *arg, const char *path, struct strbuf *out),
                             void *arg)
{
        struct archive *a = calloc(1, sizeof(*a));
        if (!a || strlen(dir) >= sizeof(a->dir)) {
                free(a);
                return NULL;
        }
        memcpy(a->dir, dir, strlen(dir) + 1);
        a->report = report;
        a->arg = arg;
        pthread_mutex_init(&a->lock, NULL);
        life_init_wake(&a->wake);
        if (life_start_thread(run_archive, a, &a->thread) < 0) {
                free(a);
                return NULL;
        }
        return a;
}

void archive_close(struct archive *a)
{
        if (!a)
                return;
        pthread_mutex_lock(&a->lock);
        a->stop = true;
        pthread_cond_signal(&a->wake);
        pthread_mutex_unlock(&a->lock);
        pthread_join(a->thread, NULL);
        for (size_t i = 0; i < REPORTS; i++)
                strbuf_finish(&a->kept[i].text);
        pthread_mutex_destroy(&a->lock);
        pthread_cond_destroy(&a->wake);
        free(a);
}
