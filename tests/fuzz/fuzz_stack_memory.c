/*
 * The memory of a program that claims to be CPython: the input is all of its memory, from BASE on,
 * and an ELF image begins there. Nothing in it may make the reader crash, hang or allocate without
 * bounds, and what it interns is clean.
 */
#include "fuzz.h"

#include "base/attr.h"
#include "read/stacks/walk.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define BASE UINT64_C(0x10000)
#define THREADS_MAX 64
#define CALLS_MAX 3000000 /* far beyond what the bounds allow */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct memory {
        const uint8_t *data;
        size_t size;
        unsigned calls;
};

static ssize_t read_memory(void *arg, const struct iovec *to, const struct iovec *from, size_t n)
{
        struct memory *m = arg;
        size_t done = 0;
        if (++m->calls > CALLS_MAX)
                abort();
        for (size_t i = 0; i < n; i++) {
                uint64_t at = (uintptr_t)from[i].iov_base - BASE;
                if (at > m->size || from[i].iov_len > m->size - at) {
                        errno = EFAULT;
                        return done > 0 ? (ssize_t)done : -1;
                }
                if (from[i].iov_len > to->iov_len - done)
                        abort();
                memcpy((uint8_t *)to->iov_base + done, m->data + at, from[i].iov_len);
                done += from[i].iov_len;
        }
        return (ssize_t)done;
}

static void check_stack(const struct stack_table *t, uint32_t stack)
{
        for (uint32_t depth = 0; stack != STACK_EMPTY; stack = stack_node(t, stack)->parent) {
                const struct stack_frame *f = stack_frame(t, stack_node(t, stack)->frame);
                const char *name = stack_text(t, f->function);
                if (++depth > STACK_DEPTH_MAX + 1 || strlen(name) >= STACK_NAME_MAX)
                        abort();
                for (; *name; name++) {
                        if ((unsigned char)*name < ' ' || *name == 0x7f)
                                abort();
                }
        }
}

static void walk_all(struct remote *r, const struct runtime *rt, struct stack_table *table)
{
        struct runtime_thread threads[THREADS_MAX];
        struct code_cache codes = {0};
        struct remote_plan plan = {0};
        uint64_t holders[4];
        for (int round = 0; round < 3; round++) {
                remote_begin(r, &plan);
                size_t n = runtime_list_threads(r, rt, threads, THREADS_MAX);
                runtime_list_holders(r, rt, holders, ARRAY_LEN(holders));
                for (size_t i = 0; i < n; i++) {
                        uint32_t stack;
                        if (walk_stack(&codes, r, rt, table, threads[i].current, &stack))
                                check_stack(table, stack);
                }
                remote_end(r, &plan);
        }
        remote_plan_finish(&plan);
        code_cache_finish(&codes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        struct memory m = {data, size, 0};
        struct remote r;
        struct runtime rt;
        struct stack_table *table;
        char why[RUNTIME_WHY_MAX] = "";
        const uint64_t bases[] = {BASE, BASE + 4096};
        if (remote_init(&r) < 0 || stack_table_open(&table) < 0)
                return 0;
        remote_use(&r, 1, read_memory, &m);
        remote_begin(&r, NULL);
        enum runtime_found found = runtime_find(&r, bases, ARRAY_LEN(bases), &rt, why);
        if (found == RUNTIME_UNSUPPORTED && !why[0])
                abort();
        if (found == RUNTIME_FOUND)
                walk_all(&r, &rt, table);
        stack_table_close(table);
        remote_finish(&r);
        return 0;
}
