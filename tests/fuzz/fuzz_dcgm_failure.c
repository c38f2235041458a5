/* Whatever dcgmi says before it dies, there is a message and a remedy. The first byte is the
 * status. */
#include "fuzz.h"

#include "read/dcgm/failure.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        if (size == 0)
                return 0;
        enum dcgm_failure f = dcgm_failure_of((const char *)data + 1, size - 1, data[0]);
        if (f == DCGM_FINE || f >= DCGM_FAILURE_COUNT || !dcgm_failure_message(f)[0] ||
            !dcgm_failure_hint(f)[0])
                abort();
        return 0;
}
