#include "model/goodput.h"

#include "base/attr.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

const struct goodput_info *goodput_info(enum goodput part)
{
        static const struct goodput_info list[GOODPUT_COUNT] = {
#define GOODPUT(id, name, words, help) {name, words, help},
#include "model/goodput.def"
#undef GOODPUT
        };
        return &list[part];
}

/* Words of names: "train/eval_loop" has "eval". */
static const struct {
        const char *word;
        enum goodput part;
} phase_words[] = {
    {"eval", GOODPUT_EVALUATION},        {"evaluate", GOODPUT_EVALUATION},
    {"evaluation", GOODPUT_EVALUATION},  {"validate", GOODPUT_EVALUATION},
    {"validation", GOODPUT_EVALUATION},  {"val", GOODPUT_EVALUATION},
    {"test", GOODPUT_EVALUATION},        {"checkpoint", GOODPUT_CHECKPOINT},
    {"checkpoints", GOODPUT_CHECKPOINT}, {"checkpointing", GOODPUT_CHECKPOINT},
    {"ckpt", GOODPUT_CHECKPOINT},        {"save", GOODPUT_CHECKPOINT},
    {"saving", GOODPUT_CHECKPOINT},
};

enum goodput goodput_of_phase(const char *name)
{
        while (*name) {
                size_t len = 0;
                while (isalpha((unsigned char)name[len]))
                        len++;
                for (size_t i = 0; i < ARRAY_LEN(phase_words); i++) {
                        if (strlen(phase_words[i].word) == len &&
                            strncasecmp(phase_words[i].word, name, len) == 0)
                                return phase_words[i].part;
                }
                name += MAX(len, (size_t)1);
        }
        return GOODPUT_COUNT;
}

void goodput_list_finish(struct goodput_list *l)
{
        free(l->list);
        *l = (struct goodput_list){0};
}
