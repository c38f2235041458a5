/*
 * The newest values of every node, given as one tick. Nodes may name their fields differently: the
 * schema given is that of all together, and grows.
 */
#pragma once

#include "model/node.h"
#include "model/reading.h"
#include "read/source.h"

struct gather_part {
        struct reading *readings;
        struct raw *cells; /* width a reading */
        char *text;
        uint16_t *map;     /* field of the node → field of all */
        uint32_t revision; /* of the schema that the map is for */
        size_t n, width;
        size_t rows_cap, cells_cap, text_cap, map_cap;
        int64_t measured_ns; /* on our monotonic clock; 0 for nothing yet */
        int64_t heard_ns;    /* when it last reported them; later where it repeats itself */
        bool stale;          /* the node says that nothing is new */
        bool fresh;          /* came since the last tick was given */
        const char *name;    /* of its host, borrowed; NULL: as it says itself */
};

struct gather {
        struct schema schema;
        uint16_t hosts[2]; /* the fields that name the host */
        size_t n_hosts;
        struct gather_part *parts;
        struct node *nodes; /* one a part: how it is; the source writes them */
        size_t n_parts;
        struct reading *readings; /* of the tick that was given last */
        struct raw *cells;
        size_t rows_cap, cells_cap;
        int64_t last_ns; /* its time */
};

/* Room for that many nodes. 0 or -ENOMEM. */
int gather_init(struct gather *g, enum dialect dialect, size_t parts);
void gather_finish(struct gather *g);
/*
 * Takes what a node measured at one moment and reported at another. 0 or -ENOMEM. Allocates only
 * when it is larger than any before.
 */
int gather_take(struct gather *g, size_t part, const struct batch *from, int64_t measured_ns,
                int64_t heard_ns);
/* What its entities' host is called from the next tick on; borrowed as long as the gather is. */
void gather_name(struct gather *g, size_t part, const char *name);
/*
 * One tick of all. Values have the age that they have at now; those of nodes of which nothing came
 * for longer than late_ns are stale. 0 or -ENOMEM. It is now, or just after
 * the tick before; wall_ns is left 0.
 */
int gather_give(struct gather *g, int64_t now_ns, int64_t late_ns, struct batch *ret);
/* Entities of all nodes. */
size_t gather_count(const struct gather *g);
/* Whether the first tick is given now, so long after the beginning: at once when all were tried;
 * who has something, and need not have all, does not wait for the others. */
bool gather_first_due(const struct gather *g, const struct source_config *config, int64_t since_ns);
/* Notes who gave nothing at the end, by what they are called together: "nodes". */
void gather_trouble(const struct gather *g, const struct source_config *config, const char *what,
                    struct source_trouble *ret);
