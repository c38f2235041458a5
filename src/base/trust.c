#include "base/trust.h"

#include "base/attr.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

bool trust_is_set_id(void)
{
        return getauxval(AT_SECURE) != 0;
}

int trust_drop_rights(void)
{
        uid_t uid = getuid();
        gid_t gid = getgid();
        if (!trust_is_set_id())
                return 0;
        if (setresgid(gid, gid, gid) < 0 || setresuid(uid, uid, uid) < 0)
                return -errno;
        /* Capabilities of the file go with a change of users only; root keeps its own. */
        struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
        static const struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3];
        if (uid != 0 && syscall(SYS_capset, &head, none) < 0)
                return -errno;
        return 0;
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

const char *trust_open_secret(const char *path, int *ret_fd)
{
        struct stat st;
        CLEANUP(closep) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
        if (fd < 0 || fstat(fd, &st) < 0)
                return strerror(errno);
        if (!S_ISREG(st.st_mode))
                return "not a regular file";
        if (st.st_uid != 0 && st.st_uid != geteuid())
                return "it belongs to another user";
        if (st.st_mode & (S_IWGRP | S_IWOTH))
                return "others may write it";
        *ret_fd = fd;
        fd = -1;
        return NULL;
}
