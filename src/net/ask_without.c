/* Stands in for ask.c where libcurl's headers were missing at build time. */
#include "net/ask.h"

int ask_open(const struct ask_config *config UNUSED, struct ask **ret UNUSED, struct err *err)
{
        err_set(err, ERR_NO_SOURCE, "this assay was built without libcurl, which engines need");
        return err_hint(err, "build it where libcurl's headers are installed");
}

void ask_close(struct ask *a UNUSED)
{
}

int probe_all(struct ask *a UNUSED, struct query_request *requests UNUSED, size_t n UNUSED,
              struct err *err)
{
        return err_set(err, ERR_NO_SOURCE, "this assay was built without libcurl");
}

const char *ask_shown(const struct ask *a UNUSED)
{
        return "";
}
