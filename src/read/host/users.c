#include "read/host/users.h"

#include "base/num.h"
#include "read/host/cursor.h"
#include "read/host/files.h"

#include <grp.h>
#include <pwd.h>
#include <stdio.h>

#define ENTRY_MAX 16384

static bool next_field(struct cursor *line, struct cursor *ret)
{
        if (line->s > line->end)
                return false;
        const char *colon = memchr(line->s, ':', (size_t)(line->end - line->s));
        *ret = (struct cursor){line->s, colon ? colon : line->end};
        line->s = ret->end + 1;
        return true;
}

static bool find_in_file(int root, const char *name, uint32_t *ret)
{
        char buf[ENTRY_MAX];
        ssize_t n = files_read(root, "/etc/passwd", buf, sizeof(buf));
        struct cursor c = cursor_of(buf, n > 0 ? (size_t)n : 0), line, user, secret, id;
        uint64_t uid;
        while (cursor_line(&c, &line)) {
                if (next_field(&line, &user) && next_field(&line, &secret) &&
                    next_field(&line, &id) && cursor_is(user, name) && cursor_u64(&id, &uid) &&
                    uid <= UINT32_MAX) {
                        *ret = (uint32_t)uid;
                        return true;
                }
        }
        return false;
}

bool users_find(int root, bool real, const char *text, uint32_t *ret)
{
        uint64_t number;
        if (num_parse_u64(text, strlen(text), &number)) {
                *ret = (uint32_t)number;
                return number <= UINT32_MAX;
        }
        if (!real)
                return find_in_file(root, text, ret);
        char buf[ENTRY_MAX];
        struct passwd entry, *found = NULL;
        if (getpwnam_r(text, &entry, buf, sizeof(buf), &found) != 0 || !found)
                return false;
        *ret = entry.pw_uid;
        return true;
}

void users_name(bool real, uint32_t uid, char *ret, size_t size)
{
        char buf[ENTRY_MAX];
        struct passwd entry, *found = NULL;
        if (real && getpwuid_r(uid, &entry, buf, sizeof(buf), &found) == 0 && found)
                snprintf(ret, size, "%s", entry.pw_name);
        else
                snprintf(ret, size, "%u", uid);
}

void users_group(bool real, uint32_t gid, char *ret, size_t size)
{
        char buf[ENTRY_MAX];
        struct group entry, *found = NULL;
        if (real && getgrgid_r(gid, &entry, buf, sizeof(buf), &found) == 0 && found)
                snprintf(ret, size, "%s", entry.gr_name);
        else
                snprintf(ret, size, "%u", gid);
}
