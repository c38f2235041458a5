/* GPU lists. */
#include "fuzz.h"

#include "entity/select.h"

#include <stdlib.h>
#include <string.h>

static char *list;

static const char *all_the_same(const char *name)
{
        return name ? list : NULL;
}

/* Every variable holds it: HIP's list is one within ROCR's. */
static void choose(void)
{
        static struct selection s;
        struct entity e = {.kind = ENTITY_GPU, .gi = -1, .ci = -1, .ordinals = 1};
        if (select_choose(NULL, false, true, all_the_same, &s, NULL) < 0)
                abort(); /* a list that cannot be read is passed over */
        for (enum vendor v = VENDOR_UNKNOWN; v < VENDOR_COUNT; v++) {
                e.vendor = v;
                select_includes(&s, &e);
        }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        static struct selection s;
        char token[ENTITY_TEXT_MAX];
        list = malloc(size + 1);
        struct err err = {0};
        if (!list)
                abort();
        memcpy(list, data, size);
        list[size] = '\0';
        if (select_parse(list, "--gpus", &s, &err) == 0) {
                struct entity e = {.kind = ENTITY_GPU, .index = 1, .gi = -1, .ci = -1};
                entity_set_text(&e, ENTITY_TEXT_UUID, "GPU-1234", 8);
                entity_set_text(&e, ENTITY_TEXT_PCI, "00000000:18:00.0", 16);
                select_includes(&s, &e);
                select_unmatched(&s, token, sizeof(token));
        } else if (err.msg[0] == '\0' || err.hint[0] == '\0') {
                abort(); /* an error always says what and what to do */
        }
        choose();
        free(list);
        return 0;
}
