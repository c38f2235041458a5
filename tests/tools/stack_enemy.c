/*
 * stack_enemy IMAGE MODE: a process with memory that says it is CPython's, for readers of stacks.
 * IMAGE is what stack_image.py makes, in a file whose name begins with "libpython". MODE: still;
 * scramble: random words and pointers are written all over it; unmap: it goes away and comes back.
 * Says "ready", and ends with its input.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define BASE ((char *)0x10000)
#define HEADERS 4096 /* of ELF: left alone, or nothing would be found to read */

static int fd;
static size_t size;

static void map_image(void)
{
        void *at = mmap(BASE, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED, fd, 0);
        if (at != BASE) {
                perror("mmap");
                exit(1);
        }
}

static void *scramble(void *arg)
{
        uint64_t random = 88172645463325252u + (uintptr_t)arg;
        for (;;) {
                random ^= random << 13;
                random ^= random >> 7;
                random ^= random << 17;
                uint64_t at = HEADERS + random % (size - HEADERS - 8) / 8 * 8, to = random >> 20;
                uint64_t word = random & 1 ? (uintptr_t)BASE + to % size / 8 * 8 : to;
                memcpy(BASE + at, &word, random & 2 ? 8 : 1);
                if (random % 4096 == 0)
                        map_image(); /* all is as it was */
        }
        return NULL;
}

static void *unmap(void *arg)
{
        for (unsigned i = 0;; i++) {
                munmap(BASE + (i % 3 == 0 ? 0 : size / 4096 / (i % 5 + 2) * 4096), size);
                map_image();
                usleep(i % 7 * 100);
        }
        return arg;
}

int main(int argc, char **argv)
{
        struct stat is;
        pthread_t thread;
        char end;
        if (argc != 3 || (fd = open(argv[1], O_RDONLY | O_CLOEXEC)) < 0 || fstat(fd, &is) < 0)
                return 2;
        size = (size_t)is.st_size;
        map_image();
        if (strcmp(argv[2], "scramble") == 0)
                pthread_create(&thread, NULL, scramble, NULL);
        else if (strcmp(argv[2], "unmap") == 0)
                pthread_create(&thread, NULL, unmap, NULL);
        puts("ready");
        fflush(stdout);
        while (read(0, &end, 1) > 0)
                ;
        _exit(0);
}
