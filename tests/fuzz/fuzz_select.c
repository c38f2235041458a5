/* GPU lists. */
#include "fuzz.h"

#include "select/select.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        static struct selection s;
        char *list = malloc(size + 1), token[ENTITY_TEXT_MAX];
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
        free(list);
        return 0;
}
