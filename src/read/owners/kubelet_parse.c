#include "read/owners/kubelet.h"

#include "base/attr.h"
#include "base/text.h"

#include <stdio.h>
#include <string.h>

#define UUID_LEN 40 /* of "GPU-01234567-89ab-cdef-0123-456789abcdef" */

/* Protocol buffers' wire format: a key (field number and type), then a number or a length and
 * bytes. */
struct wire {
        const unsigned char *at, *end;
};

enum { TYPE_VARINT = 0, TYPE_EIGHT = 1, TYPE_BYTES = 2, TYPE_FOUR = 5 };

static bool read_varint(struct wire *w, uint64_t *ret)
{
        uint64_t v = 0;
        for (unsigned shift = 0; shift < 64 && w->at < w->end; shift += 7) {
                unsigned char c = *w->at++;
                v |= (uint64_t)(c & 0x7f) << shift;
                if (!(c & 0x80)) {
                        *ret = v;
                        return true;
                }
        }
        return false;
}

/* False when it makes no sense. */
static bool read_field(struct wire *w, unsigned *field, struct wire *value)
{
        uint64_t key, n = 0;
        if (!read_varint(w, &key))
                return false;
        *field = (unsigned)(key >> 3);
        *value = (struct wire){w->at, w->at};
        switch (key & 7) {
        case TYPE_VARINT:
                return read_varint(w, &n);
        case TYPE_EIGHT:
                n = 8;
                break;
        case TYPE_FOUR:
                n = 4;
                break;
        case TYPE_BYTES:
                if (!read_varint(w, &n))
                        return false;
                break;
        default:
                return false;
        }
        if (n > (uint64_t)(w->end - w->at))
                return false;
        if ((key & 7) == TYPE_BYTES)
                *value = (struct wire){w->at, w->at + n};
        w->at += n;
        return true;
}

static void copy_text(struct wire v, char *ret, size_t size)
{
        size_t n = (size_t)(v.end - v.at);
        n = n < size ? n : size - 1;
        memcpy(ret, v.at, n);
        ret[n] = '\0';
        text_clean(ret);
}

struct reader {
        struct allocation *ret;
        size_t n, max;
        struct owner who; /* of the pod and container being read */
        bool damaged;
};

/* The next field; what is not a text or message has an empty value. False at the end. */
static bool next_field(struct reader *r, struct wire *w, unsigned *field, struct wire *value)
{
        if (r->damaged || w->at == w->end)
                return false;
        r->damaged = !read_field(w, field, value);
        return !r->damaged;
}

static bool is_gpu(const char *resource)
{
        return strstr(resource, "nvidia.com/") || strstr(resource, "amd.com/") ||
               strstr(resource, "intel.com/");
}

/* One device that is shared without end ("GPU-…::7") takes no place of others. */
static bool has_room(const struct reader *r, const char *device)
{
        size_t same = 0, len = strcspn(device, ":");
        for (size_t i = 0; i < r->n; i++)
                same += strncmp(r->ret[i].device, device, len) == 0 &&
                        strcspn(r->ret[i].device, ":") == len;
        return r->n < r->max && same < OWNERS_GPU_MAX;
}

static void add_device(struct reader *r, const char *device)
{
        if (!device[0] || !has_room(r, device))
                return;
        struct allocation *a = &r->ret[r->n++];
        a->who = r->who;
        snprintf(a->device, sizeof(a->device), "%s", device);
}

/* ContainerDevices: 1 resource_name, 2 device_ids. The name may come after the ids. */
static void read_devices(struct reader *r, struct wire w)
{
        char resource[128] = "";
        struct wire copy = w, value;
        unsigned field;
        while (next_field(r, &copy, &field, &value)) {
                if (field == 1)
                        copy_text(value, resource, sizeof(resource));
        }
        while (is_gpu(resource) && next_field(r, &w, &field, &value)) {
                char device[OWNER_ID_MAX];
                if (field != 2)
                        continue;
                copy_text(value, device, sizeof(device));
                add_device(r, device);
        }
}

/* "gpu.nvidia.com": a driver of dynamic resources by one of the vendors. */
static bool is_gpu_driver(const char *driver)
{
        static const char *const vendors[] = {"nvidia.com", "amd.com", "intel.com"};
        size_t n = strlen(driver);
        for (size_t i = 0; i < ARRAY_LEN(vendors); i++) {
                size_t len = strlen(vendors[i]);
                if (n >= len && strcmp(driver + n - len, vendors[i]) == 0)
                        return true;
        }
        return false;
}

/* The UUID in a name such as "nvidia.com/gpu=GPU-…"; nothing is written where there is none. */
static void find_uuid(const char *name, char *ret)
{
        static const char *const starts[] = {"GPU-", "MIG-"};
        for (size_t i = 0; i < ARRAY_LEN(starts); i++) {
                const char *at = strstr(name, starts[i]);
                size_t n = at ? 4 + strspn(at + 4, "0123456789abcdefABCDEF-") : 0;
                if (n == UUID_LEN)
                        snprintf(ret, OWNER_ID_MAX, "%.*s", (int)n, at);
        }
}

/* CDIDevice: 1 name. */
static void read_cdi_device(struct reader *r, struct wire w, char *uuid)
{
        char name[256];
        struct wire value;
        unsigned field;
        while (next_field(r, &w, &field, &value)) {
                if (field != 1)
                        continue;
                copy_text(value, name, sizeof(name));
                find_uuid(name, uuid);
        }
}

/* ClaimResource: 1 CDI devices, 2 driver_name, 3 pool_name, 4 device_name. */
static void read_claim_resource(struct reader *r, struct wire w)
{
        char driver[128] = "", device[OWNER_ID_MAX] = "", uuid[OWNER_ID_MAX] = "";
        struct wire value;
        unsigned field;
        while (next_field(r, &w, &field, &value)) {
                if (field == 1)
                        read_cdi_device(r, value, uuid);
                else if (field == 2)
                        copy_text(value, driver, sizeof(driver));
                else if (field == 4)
                        copy_text(value, device, sizeof(device));
        }
        find_uuid(device, uuid);
        if (!r->damaged && is_gpu_driver(driver))
                add_device(r, uuid[0] ? uuid : device);
}

/* DynamicResource: 2 claim_name, 3 claim_namespace, 4 claim_resources. */
static void read_dynamic(struct reader *r, struct wire w)
{
        struct wire value;
        unsigned field;
        while (next_field(r, &w, &field, &value)) {
                if (field == 4)
                        read_claim_resource(r, value);
        }
}

/* ContainerResources: 1 name, 2 devices, 5 dynamic_resources. */
static void read_container(struct reader *r, struct wire w)
{
        struct wire copy = w, value;
        unsigned field;
        r->who.container[0] = '\0';
        while (next_field(r, &copy, &field, &value)) {
                if (field == 1)
                        copy_text(value, r->who.container, sizeof(r->who.container));
        }
        while (next_field(r, &w, &field, &value)) {
                if (field == 2)
                        read_devices(r, value);
                else if (field == 5)
                        read_dynamic(r, value);
        }
}

/* PodResources: 1 name, 2 namespace, 3 containers. */
static void read_pod(struct reader *r, struct wire w)
{
        struct wire copy = w, value;
        unsigned field;
        r->who = (struct owner){.kind = OWNER_KUBERNETES};
        while (next_field(r, &copy, &field, &value)) {
                if (field == 1)
                        copy_text(value, r->who.pod, sizeof(r->who.pod));
                else if (field == 2)
                        copy_text(value, r->who.namespace, sizeof(r->who.namespace));
        }
        while (next_field(r, &w, &field, &value)) {
                if (field == 3)
                        read_container(r, value);
        }
}

int kubelet_parse(const unsigned char *buf, size_t n, struct allocation *ret, size_t max)
{
        struct reader r = {.ret = ret, .max = max};
        struct wire w = {buf, buf + n}, value;
        unsigned field;
        while (next_field(&r, &w, &field, &value)) {
                if (field == 1)
                        read_pod(&r, value);
        }
        return r.damaged ? -1 : (int)r.n;
}
