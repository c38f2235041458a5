/* Stands in for fetch.c where libcurl's headers were missing at build time. */
#include "net/fetch.h"

#include "base/attr.h"

int fetch_open(const struct fetch_config *config UNUSED, struct fetch **ret UNUSED, struct err *err)
{
        err_set(err, ERR_NO_SOURCE, "this assay was built without libcurl, which HTTP needs");
        return err_hint(err, "build it where libcurl's headers are installed");
}

void fetch_close(struct fetch *f UNUSED)
{
}

int fetch_get(struct fetch *f UNUSED, const char **ret UNUSED, size_t *ret_len UNUSED,
              struct err *err UNUSED)
{
        return 0;
}

int fetch_post(struct fetch *f UNUSED, const struct fetch_body *body UNUSED,
               long *ret_status UNUSED, char ret_answer[FETCH_ANSWER_MAX] UNUSED,
               struct err *err UNUSED)
{
        return 0;
}

const char *fetch_shown(const struct fetch *f UNUSED)
{
        return "";
}

const char *fetch_origin(const struct fetch *f UNUSED)
{
        return "";
}
