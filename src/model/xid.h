/* XIDs: the numbers under which NVIDIA's driver reports errors of a GPU, and what they mean. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum xid_fault { XID_FAULT_ANY, XID_FAULT_PROGRAM, XID_FAULT_DRIVER, XID_FAULT_HARDWARE };

enum xid_effect {
        XID_EFFECT_NOTE,
        XID_EFFECT_ERROR, /* a program failed */
        XID_EFFECT_GRAVE, /* no program can use the GPU before a reset or a repair */
};

struct xid_info {
        uint32_t number;
        enum xid_fault fault;
        enum xid_effect effect;
        const char *text, *remedy;
};

/* NULL for a number that is not in the table. */
const struct xid_info *xid_info(uint32_t number);
/* The rows in the order of their numbers; NULL beyond the last. */
const struct xid_info *xid_info_at(size_t i);
/* "a program", "the driver", "the hardware", "a program, the driver or the hardware". */
const char *xid_fault_words(enum xid_fault fault);
bool xid_is_grave(uint32_t number);
/* An error that a program causes by itself: no sign of a faulty GPU. */
bool xid_is_program_error(uint32_t number);
