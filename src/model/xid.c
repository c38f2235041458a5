#include "model/xid.h"

#include "base/attr.h"

static const struct xid_info table[] = {
#define XID(number, fault, effect, text, remedy)                                                   \
        {number, XID_FAULT_##fault, XID_EFFECT_##effect, text, remedy},
#include "model/xids.def"
#undef XID
};

const struct xid_info *xid_info_at(size_t i)
{
        return i < ARRAY_LEN(table) ? &table[i] : NULL;
}

const struct xid_info *xid_info(uint32_t number)
{
        for (size_t i = 0; i < ARRAY_LEN(table); i++) {
                if (table[i].number == number)
                        return &table[i];
        }
        return NULL;
}

const char *xid_fault_words(enum xid_fault fault)
{
        switch (fault) {
        case XID_FAULT_PROGRAM:
                return "a program";
        case XID_FAULT_DRIVER:
                return "the driver";
        case XID_FAULT_HARDWARE:
                return "the hardware";
        case XID_FAULT_ANY:
                break;
        }
        return "a program, the driver or the hardware";
}

bool xid_is_grave(uint32_t number)
{
        const struct xid_info *xid = xid_info(number);
        return xid && xid->effect == XID_EFFECT_GRAVE;
}

bool xid_is_program_error(uint32_t number)
{
        const struct xid_info *xid = xid_info(number);
        return xid && xid->fault == XID_FAULT_PROGRAM && xid->effect == XID_EFFECT_ERROR;
}
