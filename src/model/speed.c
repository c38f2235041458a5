#include "model/speed.h"

#include "base/attr.h"

#include <ctype.h>
#include <stddef.h>
#include <string.h>

enum word_role {
        WORD_OTHER,
        WORD_UNIT,
        WORD_DIVISOR,
        WORD_TIME,
        WORD_RATE,
        WORD_STEP,
        WORD_THINGS,
        WORD_STATISTIC,
        WORD_NOT_SPEED,
        WORD_PART,
        WORD_PREPARATION,
        WORD_PER,
};

struct word {
        enum word_role role;
        double seconds;
        bool divides; /* "/" precedes it */
};

#define WORDS_MAX 24
#define LETTERS_MAX 20

struct words {
        size_t n;
        struct word w[WORDS_MAX];
};

static struct word find_word(const char *text, bool divides)
{
        static const struct {
                const char *text;
                enum word_role role;
                double seconds;
        } table[] = {
#define SPEED_WORD(word, role, seconds) {word, WORD_##role, seconds},
#include "model/speed_words.def"
#undef SPEED_WORD
            {"per", WORD_PER, 0}};
        for (size_t i = 0; i < ARRAY_LEN(table); i++) {
                if (strcmp(table[i].text, text) == 0)
                        return (struct word){table[i].role, table[i].seconds, divides};
        }
        return (struct word){.divides = divides};
}

/* Names are written train/step_s, "it/s", tokens-per-second, stepTime. */
static struct words split_words(const char *name)
{
        struct words words = {0};
        char text[LETTERS_MAX];
        const char *s = name;
        while (*s && words.n < WORDS_MAX) {
                bool divides = false;
                size_t len = 0;
                for (; *s && !isalnum((unsigned char)*s); s++)
                        divides = *s == '/';
                for (; isalnum((unsigned char)*s); s++) {
                        if (len > 0 && isupper((unsigned char)*s) && islower((unsigned char)s[-1]))
                                break;
                        if (len < sizeof(text) - 1)
                                text[len++] = (char)tolower((unsigned char)*s);
                }
                text[len] = '\0';
                if (len > 0)
                        words.w[words.n++] = find_word(text, divides);
        }
        return words;
}

static bool has_role(const struct words *words, enum word_role role)
{
        for (size_t i = 0; i < words->n; i++) {
                if (words->w[i].role == role)
                        return true;
        }
        return false;
}

/* "tokens per second", "it/s", "samples_s"; a path such as time/ms is not a rate. */
static bool is_divided_by(const struct words *words, size_t i)
{
        const struct word *w = &words->w[i], *before = i > 0 ? w - 1 : NULL;
        if (!before || before->role == WORD_TIME)
                return false;
        if (before->role == WORD_PER || (before->role == WORD_THINGS && w->seconds >= 1))
                return true;
        return w->divides && w->seconds >= 1;
}

static bool ends_with(const struct words *words, size_t i)
{
        while (i + 1 < words->n && words->w[i + 1].role == WORD_STATISTIC)
                i++;
        return i + 1 == words->n;
}

/* The seconds of the unit that a time has; 0 for none. "second_moment" has none. */
static double unit_of_time(const struct words *words)
{
        for (size_t i = words->n; i-- > 0;) {
                const struct word *w = &words->w[i];
                bool per = i + 1 < words->n && (w[1].role == WORD_PER || w[1].divides);
                if (w->role == WORD_UNIT && (per || ends_with(words, i)))
                        return w->seconds;
        }
        return 0;
}

static bool is_rate(const struct words *words)
{
        for (size_t i = 0; i < words->n; i++) {
                enum word_role role = words->w[i].role;
                bool unit = role == WORD_UNIT || role == WORD_DIVISOR;
                if (role == WORD_RATE || (unit && is_divided_by(words, i)))
                        return true;
        }
        return false;
}

struct speed_name speed_of_number(const char *name)
{
        struct words words = split_words(name);
        struct speed_name ret = {SPEED_NONE, is_rate(&words), 0};
        double seconds = unit_of_time(&words);
        bool time = seconds > 0 || has_role(&words, WORD_TIME);
        if (has_role(&words, WORD_NOT_SPEED) || (!ret.is_rate && !time))
                return (struct speed_name){0};
        ret.seconds = ret.is_rate ? 0 : seconds;
        if (has_role(&words, WORD_PREPARATION))
                ret.speed = SPEED_PREPARATION;
        else if (has_role(&words, WORD_PART))
                ret.speed = SPEED_PART;
        else if (ret.is_rate)
                ret.speed = SPEED_RATE;
        else
                ret.speed = has_role(&words, WORD_STEP) ? SPEED_STEP : SPEED_TIME;
        /* "step_time" is in seconds unless it says otherwise. */
        if (ret.speed == SPEED_STEP && seconds == 0)
                ret.seconds = 1;
        return ret;
}

struct speed_name speed_of_phase(const char *name)
{
        struct words words = split_words(name);
        struct speed_name ret = {SPEED_TIME, false, 1};
        if (has_role(&words, WORD_PREPARATION))
                ret.speed = SPEED_PREPARATION;
        else if (has_role(&words, WORD_PART))
                ret.speed = SPEED_PART;
        else if (has_role(&words, WORD_STEP))
                ret.speed = SPEED_STEP;
        return ret;
}
