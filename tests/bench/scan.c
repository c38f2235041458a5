/*
 * How long a scan for GPU clients takes: over a root made by a test, or over the real /proc with so
 * many more processes of 20 descriptors each. Usage: scan ROOT, or scan -PROCESSES.
 */
#include "read/drm/scan.h"
#include "base/attr.h"
#include "base/clock.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>

#define DESCRIPTORS 20
#define SCANS 6

static pid_t children[4096];

static size_t spawn(size_t n)
{
        size_t made = 0;
        for (int i = 0; i < DESCRIPTORS - 3; i++)
                open("/dev/null", O_RDONLY);
        while (made < n && (children[made] = fork()) > 0)
                made++;
        if (made < n && children[made] == 0)
                for (;;)
                        pause();
        return made;
}

int main(int argc, char **argv)
{
        static struct drm_scan scan;
        static const struct scan_gpu gpu = {
            .pdev = "0000:00:02.0", .card = "card0", .render = "renderD128"};
        long wanted = argc == 2 ? strtol(argv[1], NULL, 10) : 0;
        size_t n = wanted < 0 ? spawn(MIN((size_t)-wanted, ARRAY_LEN(children))) : 0;
        if (argc != 2 || drm_scan_init(&scan, n ? "" : argv[1], NULL) < 0)
                return 2;
        for (int i = 0; i < SCANS; i++) {
                int64_t start = clock_mono_ns();
                /* The scanner's clock runs ahead of ours: the last scans are due to look again. */
                drm_scan_run(&scan, &gpu, 1, start + (i >= SCANS / 2 ? 10 * NS_PER_S : 0));
                printf("scan %d: %.2f ms, %u processes looked through, %u clients\n", i,
                       (double)(clock_mono_ns() - start) / 1e6, scan.visited,
                       scan.devices[0].clients);
        }
        drm_scan_finish(&scan);
        for (size_t i = 0; i < n; i++)
                kill(children[i], SIGKILL);
        while (wait(NULL) > 0)
                ;
        return 0;
}
