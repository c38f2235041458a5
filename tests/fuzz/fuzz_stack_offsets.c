/* Debug offsets: the first words of _PyRuntime, from 3.13 on. */
#include "fuzz.h"

#include "read/stacks/layout.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define STRUCT_MAX (64u << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        uint64_t words[LAYOUT_WORDS] = {0};
        struct layout l;
        memcpy(words, data, size < sizeof(words) ? size : sizeof(words));
        struct layout_facts facts = layout_read_facts(words);
        int r;
        for (unsigned k = 0; (r = layout_read(words, k, &l)) != -ENOENT; k++) {
                if (r < 0)
                        continue;
                if (!facts.version || l.minor < 13 || l.minor > LAYOUT_MINOR_NEWEST)
                        abort();
                if (l.code_file >= STRUCT_MAX || l.thread_next >= STRUCT_MAX ||
                    l.frame_owner >= STRUCT_MAX || l.gil_holder >= STRUCT_MAX ||
                    l.code_bytecode >= STRUCT_MAX)
                        abort();
        }
        return 0;
}
