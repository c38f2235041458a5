/* Without libcurl no engine can be asked. */
#include "read/engines/engines.h"

int engines_open(const struct engines_config *config, struct engines **ret, struct err *err)
{
        (void)config, (void)ret;
        err_set(err, ERR_NO_SOURCE, "this build asks no model servers");
        return err_hint(err, "it was configured without libcurl");
}

void engines_close(struct engines *e)
{
        (void)e;
}

int engines_add(struct engines *e, const char *url, int32_t pid, struct err *err)
{
        (void)e, (void)url, (void)pid;
        return err_set(err, ERR_NO_SOURCE, "this build asks no model servers");
}

void engines_discover(struct engines *e)
{
        (void)e;
}

size_t engines_count(const struct engines *e)
{
        (void)e;
        return 0;
}

const struct engine_target *engines_at(const struct engines *e, size_t i)
{
        (void)e, (void)i;
        return NULL;
}

bool engines_query(struct engines *e, int64_t until_ns)
{
        (void)e, (void)until_ns;
        return true;
}

void engines_wake(struct engines *e)
{
        (void)e;
}
