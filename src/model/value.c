#include "model/value.h"

const char *state_name(enum state state)
{
        switch (state) {
        case STATE_NONE:
                return "absent";
        case STATE_OK:
                return "ok";
        case STATE_STALE:
                return "stale";
        case STATE_BLANK:
                return "blank";
        case STATE_UNSUPPORTED:
                return "unsupported";
        case STATE_DENIED:
                return "denied";
        case STATE_ERROR:
                return "error";
        case STATE_COUNT:
                break;
        }
        return "?";
}
