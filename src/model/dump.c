#include "model/dump.h"

static const struct dump_cause_info causes[] = {
#define DUMP_CAUSE(id, name, asked, text) [DUMP_CAUSE_##id] = {name, text, asked},
#include "model/dump_causes.def"
#undef DUMP_CAUSE
};

const struct dump_cause_info *dump_cause_info(enum dump_cause cause)
{
        return &causes[cause];
}
