/*
 * A libcuda.so.1 with one GPU, whose work takes no time but for waiting: each wait lasts
 * FAKE_CUDA_WAIT_US microseconds, and FAKE_CUDA_SLOW_US more while a thread beside the first one
 * lives, which is what a reader of counters costs.
 */
#include "selftest/cuda.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The prototypes are the ones that the program calls through. */
#define CUDA_FUNCTION(name, symbol, parameters)                                                    \
        __attribute__((visibility("default"))) int fake_##name parameters __asm__(symbol);
CUDA_FUNCTIONS(CUDA_FUNCTION)
#undef CUDA_FUNCTION

static unsigned microseconds(const char *name)
{
        const char *text = getenv(name);
        return text ? (unsigned)strtoul(text, NULL, 10) : 0;
}

static int threads(void)
{
        char line[128];
        int n = 1;
        FILE *f = fopen("/proc/self/status", "re");
        while (f && fgets(line, sizeof(line), f)) {
                if (strncmp(line, "Threads:", 8) == 0)
                        n = (int)strtol(line + 8, NULL, 10);
        }
        if (f)
                fclose(f);
        return n;
}

int fake_init(unsigned flags)
{
        return (int)flags;
}

int fake_count(int *ret)
{
        *ret = 1;
        return 0;
}

int fake_device(int *ret, int ordinal)
{
        *ret = ordinal;
        return 0;
}

/* FAKE_CUDA_UUID: 32 hexadecimal digits. */
int fake_uuid(struct cuda_uuid *ret, int device)
{
        const char *text = getenv("FAKE_CUDA_UUID");
        (void)device;
        for (int i = 0; i < 16; i++) {
                char pair[3] = {text[2 * i], text[2 * i + 1], '\0'};
                ret->bytes[i] = (unsigned char)strtoul(pair, NULL, 16);
        }
        return 0;
}

static char context;

int fake_retain(void **ret, int device)
{
        (void)device;
        *ret = &context;
        return 0;
}

int fake_release(int device)
{
        return device;
}

int fake_use(void *to)
{
        return to != &context;
}

int fake_alloc(cuda_pointer *ret, size_t bytes)
{
        static uint64_t next = 1;
        *ret = next;
        next += bytes;
        return 0;
}

int fake_free(cuda_pointer at)
{
        return at == 0;
}

int fake_alloc_host(void **ret, size_t bytes)
{
        *ret = malloc(bytes);
        return *ret == NULL;
}

int fake_free_host(void *at)
{
        free(at);
        return 0;
}

int fake_copy(cuda_pointer to, cuda_pointer from, size_t bytes, void *stream)
{
        (void)bytes, (void)stream;
        return to == 0 || from == 0;
}

int fake_to_device(cuda_pointer to, const void *from, size_t bytes, void *stream)
{
        (void)bytes, (void)stream;
        return to == 0 || !from;
}

int fake_to_host(void *to, cuda_pointer from, size_t bytes, void *stream)
{
        (void)bytes, (void)stream;
        return !to || from == 0;
}

int fake_stream(void **ret, unsigned flags)
{
        (void)flags;
        *ret = &context;
        return 0;
}

int fake_free_stream(void *stream)
{
        return stream != &context;
}

int fake_wait(void *stream)
{
        usleep(microseconds("FAKE_CUDA_WAIT_US") +
               (threads() > 1 ? microseconds("FAKE_CUDA_SLOW_US") : 0));
        return stream != &context;
}

int fake_words(int code, const char **ret)
{
        (void)code;
        *ret = "an error of the fake";
        return 0;
}
