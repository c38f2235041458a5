/* Compiler attributes and the few macros the whole program uses. */
#pragma once

#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))
#define CLEANUP(f) __attribute__((cleanup(f)))
#define PRINTF_LIKE(fmt, args) __attribute__((format(printf, fmt, args)))
#define UNUSED __attribute__((unused))
#define LIKELY(x) __builtin_expect(!!(x), 1)
#define UNLIKELY(x) __builtin_expect(!!(x), 0)

#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define MAX(a, b) ((a) > (b) ? (a) : (b))

/* Moves a pointer out of its variable, so that the variable's cleanup frees nothing. */
#define TAKE(p)                                                                                    \
        __extension__({                                                                            \
                __typeof__(p) taken_ = (p);                                                        \
                (p) = NULL;                                                                        \
                taken_;                                                                            \
        })

static inline void freep(void *p)
{
        free(*(void **)p);
}

static inline void closep(int *fd)
{
        if (*fd >= 0)
                close(*fd);
}
