/* Command lines of strangers: words get no longer, and nothing beyond them is touched. */
#include "fuzz.h"

#include "base/redact.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        struct redact r = {0};
        char *text = malloc(size + 1);
        if (!text)
                return 0;
        memcpy(text, data, size);
        text[size] = '\0';
        for (size_t i = 0; i < size; i += strlen((const char *)data + i) + 1) {
                size_t len = strnlen((const char *)data + i, size - i);
                redact_word(&r, text + i);
                if (strlen(text + i) > len)
                        abort();
                if (i + len >= size)
                        break;
        }
        free(text);
        return 0;
}
