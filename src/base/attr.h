/* Compiler attributes and the few macros the whole program uses. */
#pragma once

#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))
#define CLEANUP(f) __attribute__((cleanup(f)))
#define PRINTF_LIKE(fmt, args) __attribute__((format(printf, fmt, args)))
#define NOINLINE __attribute__((noinline))
#define UNUSED __attribute__((unused))
#define LIKELY(x) __builtin_expect(!!(x), 1)
#define UNLIKELY(x) __builtin_expect(!!(x), 0)

/* The smaller and the larger of two, each evaluated once. Names end in a number of their own, so
 * that one may stand inside another. */
#define MIN(a, b) CHOOSE_(a, <, b, __COUNTER__)
#define MAX(a, b) CHOOSE_(a, >, b, __COUNTER__)
#define CHOOSE_(a, op, b, n) CHOOSE_NAMED_(a, op, b, n)
#define CHOOSE_NAMED_(a, op, b, n)                                                                 \
        __extension__({                                                                            \
                __typeof__(1 ? (a) : (b)) left_##n = (a), right_##n = (b);                         \
                left_##n op right_##n ? left_##n : right_##n;                                      \
        })

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
