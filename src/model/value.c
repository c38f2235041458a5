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

struct value value_rate(struct value now, struct value before, double seconds)
{
        if (!value_is_set(now))
                return value_missing((enum state)now.state);
        if (now.state == STATE_STALE || !value_is_set(before) || !(seconds > 0))
                return value_missing(STATE_BLANK);
        if (now.v < before.v)
                return value_missing(STATE_ERROR);
        return value_ok((now.v - before.v) / seconds);
}

struct value counter_rate(uint64_t now, uint64_t before, double seconds)
{
        double grown = now < before ? -1 : (double)(now - before);
        return value_rate(value_ok(grown), value_ok(0), seconds);
}
