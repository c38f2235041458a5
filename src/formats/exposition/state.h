/* What the exposition parser keeps; for its own files only. */
#pragma once

#include "base/lookup.h"
#include "base/pool.h"
#include "formats/exposition/exposition.h"

#define NOBODY (-1)

struct name {
        const char *s;
        size_t len;
        int field;                   /* NOBODY when it is not wanted */
        uint32_t sampled, announced; /* in which round last */
};

struct block_text {
        uint16_t field, len;
        const char *s;
};

/* A label block, known by its bytes. The exporter repeats it for each metric of a GPU. */
struct block {
        const char *text;
        uint32_t len;
        uint32_t next; /* the block that came after it last time */
        uint32_t hash;
        uint32_t round; /* in which it was seen last */
        int entity;     /* NOBODY when it does not name a GPU */
        uint32_t n_texts;
        const struct block_text *texts;
        uint64_t seen[EXPOSITION_FIELDS_MAX / 64]; /* fields given in that round */
};

struct slot {
        struct entity_key key;
        uint32_t round; /* in which it was seen last */
};

struct exposition {
        bool (*wanted)(enum dialect dialect, const char *field, size_t len);
        struct schema schema;
        bool is_label[EXPOSITION_FIELDS_MAX];

        struct name *names;
        size_t n_names, names_cap;
        struct lookup name_lookup;
        struct pool name_text;
        uint32_t last_name;

        struct block *blocks;
        size_t n_blocks, blocks_cap;
        struct lookup block_lookup;
        uint32_t last_block;
        size_t blocks_used; /* in this round */

        struct slot *slots; /* entities */
        size_t n_slots, slots_cap;
        size_t hostless; /* of them, those for which no series names a host */
        struct lookup slot_lookup;
        struct pool text; /* of blocks and keys */

        struct raw *cells; /* stride a slot */
        size_t stride;
        struct reading *readings;

        uint32_t round;
        size_t entities; /* in this round */
        uint32_t given;  /* the round handed out last */
        bool full;       /* something did not fit in this round */
        bool must_forget;
        uint64_t digest;
        bool timed;
        int64_t wall_ns;
};

/*
 * The metric name that s starts with. Returns its length, 0 when there is none; *ret is LOOKUP_END
 * for a name that is not worth keeping, which nobody wants.
 */
size_t exposition_find_name(struct exposition *x, const char *s, size_t len, uint32_t *ret);
/* The place of a name that is known; LOOKUP_END when it is not. */
uint32_t exposition_known_name(const struct exposition *x, const char *s, size_t len);
/*
 * The label block that s starts with, learnt when it is new. EXPOSITION_SAMPLE when it is about a
 * GPU, EXPOSITION_SKIPPED when not; else EXPOSITION_BAD or EXPOSITION_FULL.
 */
enum exposition_line exposition_find_block(struct exposition *x, const char *s, size_t len,
                                           uint32_t *ret);
