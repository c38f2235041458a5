/* Lists of hosts, and what Slurm says of a job's: every name that comes out is one that may stand
 * in a command line. */
#include "fuzz.h"

#include "read/nodes/hostlist.h"
#include "read/nodes/slurm.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        /* The first byte says whether addresses are meant. */
        struct hostlist h = {.addresses = size > 0 && data[0] == '@'};
        struct err err = {0};
        data += h.addresses;
        size -= h.addresses;
        char *text = malloc(size + 1);
        if (!text)
                abort();
        memcpy(text, data, size);
        text[size] = '\0';
        int r = hostlist_add(&h, text, &err);
        if (r < 0 && (!err.msg[0] || !err.hint[0]))
                abort();
        if (h.n > HOSTLIST_MAX)
                abort();
        for (size_t i = 0; i < h.n; i++) {
                if (h.addresses)
                        continue;
                if (h.names[i][0] == '-' || h.names[i][0] == '\0' ||
                    strpbrk(h.names[i], " \n;|&$`'\"\\[]"))
                        abort();
        }
        hostlist_finish(&h);
        struct slurm_job job = {0};
        err = (struct err){0};
        if (slurm_read_job(&job, text, &err) < 0 && !err.msg[0])
                abort();
        slurm_finish(&job);
        free(text);
        return 0;
}
