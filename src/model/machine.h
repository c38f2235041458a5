/* What the machine around the GPUs draws: its processors, and the whole of it. */
#pragma once

#include "model/value.h"

enum machine_part {
        MACHINE_CPU,  /* the processors, with the memory that they count */
        MACHINE_NODE, /* all of it, by its power meter */
        MACHINE_PARTS
};

struct machine_use {
        bool counted[MACHINE_PARTS];       /* a counter or a meter was present */
        double joules[MACHINE_PARTS];      /* since the program began to look */
        struct value power[MACHINE_PARTS]; /* of now; missing where nothing reports it */
};
