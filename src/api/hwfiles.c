#include "api/hwfiles.h"

#include "base/clock.h"
#include "base/outfile.h"
#include "formats/hwmon/write.h"
#include "life/thread.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* What the files hold is kept here only until it is written. */
struct hwfiles {
        struct core *core;
        pthread_t thread;
        char folder[CORE_PATH_MAX];
        struct bundle texts;
        int fds[BUNDLE_FILES_MAX]; /* of the texts' files; -1 before there is one */
        uint64_t cursor;
        int64_t host_ns; /* of the host's tick that was written last */
        struct err err;  /* the first failure; the thread's until it has ended */
};

static int open_file(struct hwfiles *h, const char *name, struct err *err)
{
        char path[CORE_PATH_MAX + 128];
        snprintf(path, sizeof(path), "%s/%s", h->folder, name);
        return outfile_open(path, O_WRONLY | O_CREAT | O_TRUNC, 0666, "", err);
}

static void write_texts(struct hwfiles *h)
{
        for (size_t i = 0; i < h->texts.n; i++) {
                struct bundle_file *f = &h->texts.files[i];
                struct err *first = h->err.code == 0 ? &h->err : NULL;
                if (h->fds[i] < 0)
                        h->fds[i] = open_file(h, f->name, first);
                int r = h->fds[i] < 0 ? 0 : strbuf_flush(&f->text, h->fds[i]);
                if (r < 0 && first)
                        err_set(&h->err, r, "cannot write '%s/%s': %s", h->folder, f->name,
                                strerror(-r));
                strbuf_clear(&f->text);
        }
}

static void put_frame(struct hwfiles *h, const struct assay_frame *f)
{
        struct frame view;
        frame_view(f, &view);
        /* A stale frame has nothing that the one before had not. */
        if (view.n > 0 && !view.stale)
                hwmon_write_frame(&h->texts, &view);
        /* Frames may come more often than ticks of the host. */
        bool news = f->host_snapshot && f->host_snapshot->wall_ns != h->host_ns;
        CLEANUP(freep) struct host *host = news ? host_snapshot_host(f->host_snapshot) : NULL;
        if (host) {
                hwmon_write_host(&h->texts, host);
                h->host_ns = host->wall_ns;
        }
        write_texts(h);
}

static void *follow_files(void *arg)
{
        struct hwfiles *h = arg;
        while (core_wait(h->core, h->cursor, INT64_MAX)) {
                struct assay_frame *f = core_next(h->core, h->cursor);
                if (!f)
                        continue;
                h->cursor = f->tick;
                put_frame(h, f);
                assay_frame_unref(f);
        }
        return NULL;
}

/* Files of a run before would be taken for this one's where it has none of its own. */
static void forget_earlier(const char *folder)
{
        static const char *const names[] = {"hw_metrics.csv", "hw_dmon.csv", "cpu_metrics.csv"};
        char path[CORE_PATH_MAX + 32];
        for (size_t i = 0; i < ARRAY_LEN(names); i++) {
                snprintf(path, sizeof(path), "%s/%s", folder, names[i]);
                unlink(path);
        }
}

int hwfiles_start(struct core *c, const char *folder, struct hwfiles **ret, struct err *err)
{
        int r = outfile_check_folder(folder, err);
        if (r < 0)
                return r;
        if (mkdir(folder, 0777) < 0 && errno != EEXIST) {
                err_set(err, -errno, "cannot make the folder '%s': %s", folder, strerror(errno));
                return err_hint(err, "give a folder that is yours to write");
        }
        if (access(folder, W_OK | X_OK) < 0) {
                err_set(err, -errno, "cannot write into '%s': %s", folder, strerror(errno));
                return err_hint(err, "give a folder that is yours to write");
        }
        struct hwfiles *h = calloc(1, sizeof(*h));
        if (!h)
                return err_set(err, -ENOMEM, "out of memory");
        forget_earlier(folder);
        h->core = c;
        pthread_mutex_lock(&c->lock);
        h->cursor = c->first;
        pthread_mutex_unlock(&c->lock);
        snprintf(h->folder, sizeof(h->folder), "%s", folder);
        for (size_t i = 0; i < ARRAY_LEN(h->fds); i++)
                h->fds[i] = -1;
        r = life_start_thread(follow_files, h, &h->thread);
        if (r < 0) {
                free(h);
                return err_set(err, r, "cannot start a thread: %s", strerror(-r));
        }
        *ret = h;
        return 0;
}

int hwfiles_finish(struct hwfiles *h, struct err *err)
{
        if (!h)
                return 0;
        pthread_join(h->thread, NULL);
        for (size_t i = 0; i < ARRAY_LEN(h->fds); i++)
                closep(&h->fds[i]);
        bundle_finish(&h->texts);
        int r = h->err.code;
        if (r < 0)
                *err = h->err;
        free(h);
        return r;
}
