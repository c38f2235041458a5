#include "model/unit.h"

const char *unit_name(enum unit unit)
{
        switch (unit) {
        case UNIT_RATIO:
                return "ratio";
        case UNIT_SCORE:
                return "score";
        case UNIT_BYTES:
                return "B";
        case UNIT_BYTES_PER_S:
                return "B/s";
        case UNIT_WATTS:
                return "W";
        case UNIT_JOULES:
                return "J";
        case UNIT_CELSIUS:
                return "degC";
        case UNIT_HERTZ:
                return "Hz";
        case UNIT_COUNT:
                return "count";
        case UNIT_PER_S:
                return "1/s";
        case UNIT_NUMBER:
                return "number";
        case UNIT_FLAG:
                return "flag";
        case UNIT_BITS:
                return "bits";
        case UNIT_SECONDS:
                return "s";
        }
        return "?";
}
