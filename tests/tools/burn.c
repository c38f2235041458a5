/*
 * A program whose use of a machine is known: the truth that the host's levels are compared with.
 * Words on the command line:
 *
 * cores=N      processes that each compute without a pause, for
 * seconds=T
 * touch=MIB    that the first process allocates, in small pages, and writes to
 * file=PATH    which it writes, past the page cache, with
 * write=BYTES  and reads with
 * read=BYTES
 * tree=1       a child that is re-parented, and one that is re-parented in a session of its own;
 *              half of the burning children end in the middle of the time
 * short=N      children that compute 20 ms and end, one after the other
 * ignore=1     SIGCHLD is ignored: the kernel reaps, and no parent learns what its children used
 * stir=T       map, touch and unmap a page for so long, which needs the lock that a reader of
 *              smaps_rollup holds: tells how often it did and how long the longest took
 * wait=1       wait for a line on standard input before starting, and before ending
 *
 * Prints one line: what all of it used, as getrusage and the orphans themselves told:
 *   cpu SECONDS read BYTES write BYTES touched BYTES
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double now(void)
{
        struct timespec ts;
        clock_gettime(CLOCK_MONOTONIC, &ts);
        return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static double cpu_of(int who)
{
        struct rusage u;
        getrusage(who, &u);
        return (double)u.ru_utime.tv_sec + (double)u.ru_utime.tv_usec / 1e6 +
               (double)u.ru_stime.tv_sec + (double)u.ru_stime.tv_usec / 1e6;
}

static volatile double sink;

static void burn(double seconds)
{
        double end = now() + seconds;
        while (now() < end) {
                for (int i = 0; i < 20000; i++)
                        sink += (double)i * 1.0000001;
        }
}

static double argument(int argc, char **argv, const char *name, double fallback)
{
        size_t n = strlen(name);
        for (int i = 1; i < argc; i++) {
                if (strncmp(argv[i], name, n) == 0 && argv[i][n] == '=')
                        return atof(argv[i] + n + 1);
        }
        return fallback;
}

static const char *text(int argc, char **argv, const char *name)
{
        size_t n = strlen(name);
        for (int i = 1; i < argc; i++) {
                if (strncmp(argv[i], name, n) == 0 && argv[i][n] == '=')
                        return argv[i] + n + 1;
        }
        return NULL;
}

/* What a process nobody waits for used, told through a pipe just before its end. */
static void tell(int fd)
{
        double used = cpu_of(RUSAGE_SELF);
        if (write(fd, &used, sizeof(used)) != sizeof(used))
                _exit(1);
        _exit(0);
}

static void start_burner(double seconds, int fd)
{
        if (fork() == 0) {
                burn(seconds);
                if (fd >= 0)
                        tell(fd);
                _exit(0);
        }
}

/* The parent in between lives long enough to be seen; then its child is init's. */
static void start_orphan(double seconds, bool session, int fd)
{
        pid_t between = fork();
        if (between == 0) {
                if (fork() == 0) {
                        if (session)
                                setsid();
                        burn(seconds);
                        tell(fd);
                }
                usleep(session ? 0 : 400000);
                _exit(0);
        }
}

static void do_io(const char *path, size_t to_write, size_t to_read)
{
        const size_t chunk = 1 << 20;
        char *buf = aligned_alloc(4096, chunk);
        int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_DIRECT, 0600);
        if (!buf || fd < 0) {
                fprintf(stderr, "burn: %s: %s\n", path, strerror(errno));
                exit(3);
        }
        memset(buf, 7, chunk);
        for (size_t at = 0; at < to_write; at += chunk) {
                if (write(fd, buf, chunk) != (ssize_t)chunk)
                        exit(3);
        }
        for (size_t at = 0; at < to_read; at += chunk) {
                if (pread(fd, buf, chunk, (off_t)(at % to_write)) != (ssize_t)chunk)
                        exit(3);
        }
        close(fd);
        free(buf);
}

static void stir(double seconds)
{
        double end = now() + seconds, worst = 0, begin;
        long count = 0;
        while ((begin = now()) < end) {
                char *page =
                    mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
                page[0] = 1;
                munmap(page, 4096);
                double took = now() - begin;
                worst = took > worst ? took : worst;
                count++;
        }
        printf("stirred %ld worst_ms %.3f ", count, worst * 1e3);
}

static void wait_for_line(void)
{
        char line[8];
        if (!fgets(line, sizeof(line), stdin))
                exit(0);
}

static double orphans_used(int fd)
{
        double sum = 0, one;
        while (read(fd, &one, sizeof(one)) == sizeof(one))
                sum += one;
        return sum;
}

int main(int argc, char **argv)
{
        double seconds = argument(argc, argv, "seconds", 1);
        int cores = (int)argument(argc, argv, "cores", 0), pipes[2];
        size_t touch = (size_t)argument(argc, argv, "touch", 0) << 20;
        bool ignored = argument(argc, argv, "ignore", 0) > 0,
             reported = argument(argc, argv, "wait", 0) > 0;
        if (pipe(pipes) < 0)
                return 3;
        if (ignored)
                signal(SIGCHLD, SIG_IGN);
        if (reported)
                wait_for_line();
        char *memory =
            touch ? mmap(NULL, touch, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
                  : NULL;
        if (memory) {
                madvise(memory, touch, MADV_NOHUGEPAGE);
                memset(memory, 1, touch);
        }
        if (argument(argc, argv, "stir", 0) > 0)
                stir(argument(argc, argv, "stir", 0));
        for (int i = 0; i < cores; i++)
                start_burner(argument(argc, argv, "tree", 0) > 0 && i % 2 ? seconds / 2 : seconds,
                             ignored ? pipes[1] : -1);
        if (argument(argc, argv, "tree", 0) > 0) {
                start_orphan(seconds, false, pipes[1]);
                start_orphan(seconds, true, pipes[1]);
        }
        for (int i = 0; i < (int)argument(argc, argv, "short", 0); i++) {
                start_burner(0.02, -1);
                wait(NULL);
        }
        if (text(argc, argv, "file"))
                do_io(text(argc, argv, "file"), (size_t)argument(argc, argv, "write", 0),
                      (size_t)argument(argc, argv, "read", 0));
        close(pipes[1]);
        double orphans = orphans_used(pipes[0]);
        while (wait(NULL) > 0 || errno == EINTR) {
        }
        printf("cpu %.3f read %.0f write %.0f touched %zu\n",
               cpu_of(RUSAGE_SELF) + cpu_of(RUSAGE_CHILDREN) + orphans,
               text(argc, argv, "file") ? argument(argc, argv, "read", 0) : 0,
               text(argc, argv, "file") ? argument(argc, argv, "write", 0) : 0, touch);
        fflush(stdout);
        if (reported)
                wait_for_line();
        return 0;
}
