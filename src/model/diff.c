#include "model/diff.h"

const char *diff_allow_name(enum diff_allow allow)
{
        static const char *const names[DIFF_ALLOW_COUNT + 1] = {
#define DIFF_ALLOW(id, name) name,
            DIFF_ALLOWS(DIFF_ALLOW)
#undef DIFF_ALLOW
        };
        return names[allow];
}

const struct diff_check_info *diff_check_info(enum diff_check_kind kind)
{
        static const struct diff_check_info table[] = {
#define DIFF_CHECK(id, words, of, allow, why) {words, DIFF_OF_##of, DIFF_ALLOW_##allow, why},
#include "model/diff_checks.def"
#undef DIFF_CHECK
        };
        return &table[kind];
}

static const char *word_name(enum diff_word word, const char *less, const char *more)
{
        switch (word) {
        case DIFF_LESS:
                return less;
        case DIFF_MORE:
                return more;
        case DIFF_SAME:
                return "no difference";
        case DIFF_INCONCLUSIVE:
                break;
        }
        return "inconclusive";
}

const char *diff_word_name(enum diff_word word)
{
        return word_name(word, "faster", "slower");
}

enum diff_word diff_row_speed(const struct diff_row *row)
{
        bool swap = row->better == DIFF_MORE_IS_FASTER;
        if (swap && row->word == DIFF_LESS)
                return DIFF_MORE;
        return swap && row->word == DIFF_MORE ? DIFF_LESS : row->word;
}

const char *diff_row_word_name(const struct diff_row *row)
{
        if (row->better == DIFF_BETTER_UNKNOWN)
                return word_name(row->word, "lower", "higher");
        return diff_word_name(diff_row_speed(row));
}

struct diff_row diff_row_as_time(const struct diff_row *row)
{
        struct diff_row ret = *row;
        if (row->better != DIFF_MORE_IS_FASTER)
                return ret;
        ret.better = DIFF_LESS_IS_FASTER;
        ret.word = diff_row_speed(row);
        ret.change = 1 / (1 + row->change) - 1;
        ret.low = 1 / (1 + row->high) - 1;
        ret.high = 1 / (1 + row->low) - 1;
        ret.base.v = 1 / row->base.v;
        ret.now.v = 1 / row->now.v;
        return ret;
}

bool diff_gate_fits(const struct diff_gate *gate, const struct diff_row *row)
{
        return gate->relative || gate->of != DIFF_GATE_TIME || row->unit == UNIT_SECONDS;
}

const char *diff_evidence_name(enum diff_evidence evidence)
{
        switch (evidence) {
        case DIFF_EVIDENCE_STEPS:
                return "steps";
        case DIFF_EVIDENCE_NUMBERS:
                return "numbers";
        case DIFF_EVIDENCE_PHASE:
                return "phase";
        case DIFF_EVIDENCE_RUN:
                return "run";
        case DIFF_EVIDENCE_NONE:
                break;
        }
        return "none";
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
        case DIFF_BY_ASSUMPTION:
                return "assumption";
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
