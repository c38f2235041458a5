#include "model/node.h"

#include "base/attr.h"

const char *node_state_name(enum node_state state)
{
        static const char *const names[] = {
#define NODE_STATE(id, name) [NODE_##id] = name,
            NODE_STATES(NODE_STATE)
#undef NODE_STATE
        };
        return (size_t)state < ARRAY_LEN(names) ? names[state] : "";
}

size_t node_count(const struct node *nodes, size_t n, enum node_state state)
{
        size_t count = 0;
        for (size_t i = 0; i < n; i++)
                count += nodes[i].state == state;
        return count;
}
