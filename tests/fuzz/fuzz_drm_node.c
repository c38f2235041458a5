/* Nodes of AMD's compute driver. */
#include "fuzz.h"

#include "read/drm/gpu.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        struct drm_node node;
        char *text = malloc(size + 1);
        if (!text)
                abort();
        memcpy(text, data, size);
        text[size] = '\0';
        if (drm_parse_node(text, &node) && (node.place & 0xffff0000))
                abort(); /* what stands there is the number of a partition */
        free(text);
        return 0;
}
