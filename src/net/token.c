#include "net/token.h"

#include "base/trust.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

int token_read(const char *path, char ret[TOKEN_MAX], struct err *err)
{
        CLEANUP(closep) int fd = -1;
        const char *why = trust_open_secret(path, &fd);
        ssize_t n = why ? -1 : read(fd, ret, TOKEN_MAX - 1);
        size_t len = n > 0 ? (size_t)n : 0;
        while (len > 0 && isspace((unsigned char)ret[len - 1]))
                len--;
        ret[len] = '\0';
        bool sane = len > 0;
        for (size_t i = 0; i < len; i++)
                sane = sane && isgraph((unsigned char)ret[i]);
        if (sane)
                return 0;
        err_set(err, ERR_NO_SOURCE, "cannot use the token in '%s': %s", path,
                why        ? why
                : n < 0    ? strerror(errno)
                : len == 0 ? "the file is empty"
                           : "it holds more than one word");
        return err_hint(err, "it must be a file of yours, or root's, with the token and "
                             "nothing else, that others cannot write");
}
