/* The CPU and dmon files of a hardware monitor's folder, divided by a NUL byte. */
#include "fuzz.h"

#include "formats/hwmon/hwmon.h"
#include "session/facts.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void save(const char *folder, const char *name, const void *s, size_t len)
{
        char path[200];
        snprintf(path, sizeof(path), "%s/%s", folder, name);
        int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
        if (fd < 0 || write(fd, s, len) != (ssize_t)len)
                abort();
        close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        static char folder[] = "/dev/shm/assay-fuzz-XXXXXX";
        static int made;
        if (!made && !mkdtemp(folder))
                abort();
        made = 1;
        const uint8_t *zero = memchr(data, 0, size);
        size_t first = zero ? (size_t)(zero - data) : size;
        save(folder, "cpu_metrics.csv", data, first);
        save(folder, "hw_dmon.csv", zero ? zero + 1 : data, zero ? size - first - 1 : 0);
        struct run_facts facts;
        struct hwmon_cpu *cpu = NULL;
        const struct host *h;
        facts_init(&facts, "fuzz");
        hwmon_facts(&facts, folder, NULL);
        facts_finish(&facts);
        if (hwmon_cpu_open(folder, &cpu, NULL) == 0) {
                while (hwmon_cpu_next(cpu, &h) > 0) {
                        if (h->interval_ns < 0)
                                abort();
                }
        }
        hwmon_cpu_close(cpu);
        return 0;
}
