#include "read/host/framework.h"

#include "base/attr.h"
#include "read/host/files.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define READS_A_TICK 16            /* each is a page, as the kernel writes them */
#define TEXT_MAX ((size_t)8 << 20) /* a process with more maps than that is not looked through */

void framework_init(struct framework_search *l)
{
        l->fd = -1;
}

void framework_finish(struct framework_search *l)
{
        closep(&l->fd);
        l->fd = -1;
}

int framework_begin(struct framework_search *l, int proc, int32_t pid)
{
        char path[32];
        snprintf(path, sizeof(path), "%d/maps", pid);
        int fd = files_open(proc, path);
        if (fd < 0)
                return fd;
        l->fd = fd;
        l->found = 0;
        l->tail = l->read = 0;
        return 0;
}

static bool text_has_word(const char *text, size_t n, const char *words)
{
        while (*words) {
                size_t len = strcspn(words, " ");
                if (memmem(text, n, words, len))
                        return true;
                words += len;
                words += strspn(words, " ");
        }
        return false;
}

/* The first framework of the table that the text shows; those found before are in found, as bits.
 */
static unsigned framework_scan(const char *text, size_t n, unsigned found)
{
        for (unsigned i = FRAMEWORK_NONE + 1; i < FRAMEWORK_COUNT; i++) {
                if (!(found & 1u << i) &&
                    text_has_word(text, n, framework_mapped((enum framework)i)))
                        found |= 1u << i;
        }
        return found;
}

/* Bytes read, 0 at the end, or a negative errno. */
static ssize_t read_piece(struct framework_search *l)
{
        ssize_t n = read(l->fd, l->text + l->tail, sizeof(l->text) - l->tail);
        if (n <= 0)
                return n < 0 ? -errno : 0;
        size_t all = l->tail + (size_t)n;
        l->found = framework_scan(l->text, all, l->found);
        l->tail = MIN(all, (size_t)FRAMEWORK_TAIL);
        memmove(l->text, l->text + all - l->tail, l->tail);
        l->read += (size_t)n;
        return n;
}

bool framework_continue(struct framework_search *l, struct value *ret)
{
        ssize_t n = 0;
        for (unsigned i = 0; i < READS_A_TICK; i++) {
                n = read_piece(l);
                if (n <= 0 || l->read > TEXT_MAX)
                        break;
        }
        if (n > 0 && l->read <= TEXT_MAX)
                return false;
        framework_finish(l);
        if (n < 0)
                *ret = files_missing(n);
        else
                *ret = value_ok(l->found ? __builtin_ctz(l->found) : FRAMEWORK_NONE);
        return true;
}
