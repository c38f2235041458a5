/* Comparisons of recorded runs. */
#include "api/api.h"
#include "app/diff.h"
#include "app/setup.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

static int compare_recordings(const char *const *base, size_t n_base, const char *const *now,
                              size_t n_now, const struct config *config, struct run_diff *r,
                              struct err *err)
{
        const char *gate = config_text(config, OPT_GATE), *allow = config_text(config, OPT_ALLOW);
        int code = gate ? run_diff_gates(r, gate, err) : 0;
        if (code == 0 && allow)
                code = run_diff_allow(r, allow, err);
        if (code == 0)
                code = run_diff_read(r, config, false, base, n_base, err);
        if (code == 0)
                code = run_diff_read(r, config, true, now, n_now, err);
        if (code == 0)
                run_diff_compare(r);
        return code;
}

static int write_text(const struct run_diff *r, const char *format, char **ret, struct err *err)
{
        struct strbuf out = {0};
        int code = run_diff_write(r, format ? format : "text", &out, err);
        char *text = code == 0 ? strdup(strbuf_str(&out)) : NULL;
        if (code == 0 && !text)
                code = err_set(err, -ENOMEM, "out of memory");
        strbuf_finish(&out);
        if (code == 0)
                *ret = text;
        return code;
}

static bool has_null(const char *const *paths, size_t n)
{
        for (size_t i = 0; paths && i < n; i++) {
                if (!paths[i])
                        return true;
        }
        return !paths;
}

static const char *first_missing(const char *const *paths, size_t n)
{
        for (size_t i = 0; i < n; i++) {
                if (access(paths[i], R_OK) < 0)
                        return paths[i];
        }
        return NULL;
}

int assay_diff(const char *const *base, size_t n_base, const char *const *now, size_t n_now,
               const char *format, const assay_options *options, char **ret,
               struct assay_error *error)
{
        struct err err = {0};
        if (!ret || has_null(base, n_base) || has_null(now, n_now))
                return api_fail(error, ASSAY_E_USAGE, "a comparison needs two sides",
                                "give the names of one recording or more for each");
        struct run_diff *r = calloc(1, sizeof(*r));
        if (!r)
                return api_fail(error, -ENOMEM, "out of memory", "");
        int code = compare_recordings(base, n_base, now, n_now, api_config(options), r, &err);
        if (code == 0)
                code = write_text(r, format, ret, &err);
        run_diff_finish(r);
        free(r);
        if (code == 0)
                return 0;
        const char *missing = first_missing(base, n_base);
        return api_file_error(missing ? missing : first_missing(now, n_now), &err, error);
}
