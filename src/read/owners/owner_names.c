/* Names of owners and of what they hold, in the texts of Slurm, Kubernetes and similar systems.
 * Pure. */
#include "base/num.h"
#include "base/text.h"
#include "read/owners/owners.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#define UID_LEN 36
#define HASH_LEN 32
_Static_assert(OWNERS_UID_MAX > UID_LEN, "a UID and its end");

/* Of a static pod: a hash of what defines it, 32 digits. */
static bool is_hash(const char *s, char *ret)
{
        size_t n = strspn(s, "0123456789abcdef");
        if (n != HASH_LEN)
                return false;
        memcpy(ret, s, n);
        ret[n] = '\0';
        return true;
}

static bool is_uid(const char *s, char *ret)
{
        for (size_t i = 0; i < UID_LEN; i++) {
                bool dash = i == 8 || i == 13 || i == 18 || i == 23;
                if (dash ? s[i] != '-' && s[i] != '_' : !isxdigit((unsigned char)s[i]))
                        return false;
                ret[i] = dash ? '-' : s[i];
        }
        ret[UID_LEN] = '\0';
        return true;
}

bool owners_pod_uid(const char *cgroup, char *ret, size_t size)
{
        if (size <= UID_LEN || !strstr(cgroup, "kubepods"))
                return false;
        for (const char *at = cgroup; (at = strstr(at, "pod")); at += 3) {
                if (is_uid(at + 3, ret) || is_hash(at + 3, ret))
                        return true;
        }
        return false;
}

/* "0000-03-00-0-0x56a0" begins with the address that is written "0000:03:00.0", or with more zeros.
 */
static bool begins_with_pci(const char *id, const char *pci)
{
        const char *domain = strchr(pci, ':');
        if (!domain || domain - pci < 4)
                return false;
        const char *own = domain - 4;
        size_t n = strlen(own);
        for (size_t i = 0; i < n; i++) {
                bool mark = own[i] == ':' || own[i] == '.';
                if (mark ? id[i] != '-'
                         : tolower((unsigned char)id[i]) != tolower((unsigned char)own[i]))
                        return false;
        }
        return n == 12 && (id[n] == '\0' || id[n] == '-');
}

bool owners_is_device(const char *id, const char *uuid, const char *device, const char *pci)
{
        size_t n = strcspn(id, ":");
        uint64_t minor, number;
        if (n > 0 && strlen(uuid) == n && strncmp(uuid, id, n) == 0)
                return true;
        if (strncmp(id, "gpu-", 4) == 0 && strncmp(device, "nvidia", 6) == 0)
                return num_parse_u64(id + 4, strlen(id + 4), &minor) &&
                       num_parse_u64(device + 6, strlen(device + 6), &number) && minor == number;
        return begins_with_pci(id, pci);
}

bool owners_pod_folder(const char *folder, const char *uid, struct owner *ret)
{
        const char *first = strchr(folder, '_'), *last = strrchr(folder, '_');
        if (!first || first == last || strcmp(last + 1, uid) != 0 || first == folder ||
            (size_t)(first - folder) >= sizeof(ret->namespace) ||
            (size_t)(last - first - 1) >= sizeof(ret->pod) || last == first + 1)
                return false;
        snprintf(ret->namespace, sizeof(ret->namespace), "%.*s", (int)(first - folder), folder);
        snprintf(ret->pod, sizeof(ret->pod), "%.*s", (int)(last - first - 1), first + 1);
        text_clean(ret->namespace);
        text_clean(ret->pod);
        return true;
}

bool owners_variable(const char *buf, size_t n, const char *name, char *ret, size_t size)
{
        size_t len = strlen(name);
        for (const char *at = buf, *end = buf + n; at < end;) {
                const char *stop = memchr(at, '\0', (size_t)(end - at));
                size_t have = (size_t)((stop ? stop : end) - at);
                if (have > len && memcmp(at, name, len) == 0 && at[len] == '=') {
                        if (!stop || have - len - 1 >= size)
                                return false;
                        memcpy(ret, at + len + 1, have - len);
                        text_clean(ret);
                        return true;
                }
                at += have + 1;
        }
        return false;
}

bool owners_mapping_name(const char *name, int32_t *index, int32_t *gi)
{
        uint64_t gpu, slice;
        size_t n = strcspn(name, ".");
        if (!num_parse_u64(name, n, &gpu) || gpu > 4095)
                return false;
        *gi = -1;
        *index = (int32_t)gpu;
        if (name[n] == '\0')
                return true;
        if (!num_parse_u64(name + n + 1, strlen(name + n + 1), &slice) || slice > 4095)
                return false;
        *gi = (int32_t)slice;
        return true;
}

struct value owners_cpus(const char *text)
{
        size_t n = strspn(text, "0123456789");
        uint64_t cpus;
        bool same =
            text[n] == '\0' || (text[n] == '(' && strchr(text, ')') == text + strlen(text) - 1);
        return same && num_parse_u64(text, n, &cpus) && cpus > 0 && cpus <= 65536
                   ? value_ok((double)cpus)
                   : value_missing(STATE_NONE);
}
