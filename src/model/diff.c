#include "model/diff.h"

const char *diff_word_name(enum diff_word word, bool is_time)
{
        switch (word) {
        case DIFF_LESS:
                return is_time ? "faster" : "lower";
        case DIFF_MORE:
                return is_time ? "slower" : "higher";
        case DIFF_SAME:
                return "no difference";
        case DIFF_INCONCLUSIVE:
                break;
        }
        return "inconclusive";
}

const char *diff_method_name(enum diff_method method)
{
        switch (method) {
        case DIFF_BY_IDENTITY:
                return "identity";
        case DIFF_BY_REPEATS:
                return "repeats";
        case DIFF_BY_STEPS:
                return "steps";
        case DIFF_BY_WINDOWS:
                return "windows";
        case DIFF_BY_PEAK:
                return "peak";
        case DIFF_BY_NOTHING:
                break;
        }
        return "none";
}

const char *diff_gate_name(enum diff_gate_of of)
{
        switch (of) {
        case DIFF_GATE_TIME:
                return "time";
        case DIFF_GATE_ENERGY:
                return "energy";
        case DIFF_GATE_MEMORY:
                return "memory";
        case DIFF_GATE_COUNT:
                break;
        }
        return "";
}
