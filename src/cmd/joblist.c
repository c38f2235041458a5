#include "cmd/joblist.h"

#include "cmd/times.h"

int joblist_path(const struct config *config, char ret[SERVE_PATH_MAX], struct err *err)
{
        char dir[SERVE_PATH_MAX];
        setup_state_folder(config, dir);
        if (!dir[0]) {
                err_set(err, ERR_USAGE, "there is no state folder");
                return err_hint(err, "give the one of 'assay serve': --state DIR");
        }
        if (snprintf(ret, SERVE_PATH_MAX, "%s/%s", dir, RECORDS_FILE) >= SERVE_PATH_MAX)
                return err_set(err, ERR_USAGE, "the state folder's name is too long");
        return 0;
}

int joblist_each(const char *path, struct records_query *q,
                 void (*each)(void *arg, const struct record *record), void *arg, struct err *err)
{
        size_t senseless = 0;
        q->senseless = &senseless;
        int r = records_each(path, q, each, arg, err);
        q->senseless = NULL;
        if (r == 0 && senseless > 0)
                notice("%zu record%s of '%s' cannot be true, skipping", senseless,
                       senseless == 1 ? "" : "s", path);
        return r;
}

int joblist_since(const char *text, int64_t now_ns, int64_t *ret, struct err *err)
{
        return times_moment("--since", text, now_ns, ret, err);
}

void joblist_name(const struct owner *o, char *ret, size_t size)
{
        switch (o->kind) {
        case OWNER_SLURM:
                snprintf(ret, size, "slurm %s", o->job);
                return;
        case OWNER_KUBERNETES:
                snprintf(ret, size, "%s/%s%s%s", o->namespace, o->pod, o->container[0] ? "/" : "",
                         o->container);
                return;
        case OWNER_PROCESS:
        case OWNER_KIND_COUNT:
                snprintf(ret, size, "processes");
                return;
        }
}
