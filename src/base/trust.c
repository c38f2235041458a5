#include "base/trust.h"

#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

bool trust_is_set_id(void)
{
        return getauxval(AT_SECURE) != 0;
}

const char *trust_env(const char *name)
{
        return secure_getenv(name);
}

const char *trust_why_not(int fd)
{
        struct stat st;
        if (geteuid() != 0)
                return NULL;
        if (fstat(fd, &st) < 0)
                return "its owner is not known";
        if (st.st_uid != 0)
                return "it belongs to another user";
        return st.st_mode & 022 ? "others may write it" : NULL;
}
