/* The shortest names that distinguish the GPUs of one screen: "0", a slice "0/7", and where there
 * are several hosts "node07:0", without what all hosts have in common.
 */
#pragma once

#include "model/entity.h"

/* Enough for every name. */
#define GPU_NAME_MAX (ENTITY_TEXT_MAX + ENTITY_LABEL_MAX + 16)

/* What a name is made from; all three are borrowed, host and id may be "". */
struct gpu_identity {
        const char *host, *label;
        const char *id; /* UUID or PCI address */
};

/* How the GPUs of one screen are named. All zero: by their labels alone. */
struct naming {
        bool with_host, with_id;
        uint8_t host_skip, host_drop; /* bytes that all hosts share at their begin and end */
        uint8_t id_skip;
        uint8_t columns; /* of the longest name on a screen */
};

struct gpu_identity gpu_identity_of(const struct entity *e);
/* Looks at n GPUs, those of one host one after another in the order of entity_compare. */
void naming_make(struct naming *ret, size_t n, const void *list,
                 struct gpu_identity (*at)(const void *list, size_t i));
/* The name of one of them. A buffer that is too small gets its end, which has the number. */
void naming_put(const struct naming *n, struct gpu_identity who, char *buf, size_t size);
void naming_put_entity(const struct naming *n, const struct entity *e, char *buf, size_t size);
/* Whether text is what somebody calls it: its label, its name, or "host:label". */
bool naming_matches(const struct naming *n, const struct entity *e, const char *text);
