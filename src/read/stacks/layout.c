#include "read/stacks/layout.h"

#include "base/attr.h"

#include <errno.h>
#include <string.h>

/* clang-format off */
#define OFFSET(name, v6, v7, v8, v9, v10, v11, v12) .name = v6,
static const struct layout layout_3_6 = {
#include "read/stacks/layout.def"
        .lines = LINES_LNOTAB, .minor = 6, .owner_without_code = LAYOUT_OWNER_NONE, .instruction_is_index = true};
#undef OFFSET
#define OFFSET(name, v6, v7, v8, v9, v10, v11, v12) .name = v7,
static const struct layout layout_3_7 = {
#include "read/stacks/layout.def"
        .lines = LINES_LNOTAB, .minor = 7, .owner_without_code = LAYOUT_OWNER_NONE, .instruction_is_index = true};
#undef OFFSET
#define OFFSET(name, v6, v7, v8, v9, v10, v11, v12) .name = v8,
static const struct layout layout_3_8 = {
#include "read/stacks/layout.def"
        .lines = LINES_LNOTAB, .minor = 8, .owner_without_code = LAYOUT_OWNER_NONE, .instruction_is_index = true};
#undef OFFSET
#define OFFSET(name, v6, v7, v8, v9, v10, v11, v12) .name = v9,
static const struct layout layout_3_9 = {
#include "read/stacks/layout.def"
        .lines = LINES_LNOTAB, .minor = 9, .owner_without_code = LAYOUT_OWNER_NONE, .instruction_is_index = true};
#undef OFFSET
#define OFFSET(name, v6, v7, v8, v9, v10, v11, v12) .name = v10,
static const struct layout layout_3_10 = {
#include "read/stacks/layout.def"
        .lines = LINES_RANGES, .minor = 10, .owner_without_code = LAYOUT_OWNER_NONE, .instruction_is_index = true};
#undef OFFSET
#define OFFSET(name, v6, v7, v8, v9, v10, v11, v12) .name = v11,
static const struct layout layout_3_11 = {
#include "read/stacks/layout.def"
        .lines = LINES_LOCATIONS, .minor = 11, .owner_without_code = LAYOUT_OWNER_NONE};
#undef OFFSET
#define OFFSET(name, v6, v7, v8, v9, v10, v11, v12) .name = v12,
static const struct layout layout_3_12 = {
#include "read/stacks/layout.def"
        .lines = LINES_LOCATIONS, .minor = 12, .owner_without_code = 3};
#undef OFFSET
/* clang-format on */

const struct layout *layout_of_minor(unsigned minor)
{
        static const struct layout *const list[] = {&layout_3_6, &layout_3_7,  &layout_3_8,
                                                    &layout_3_9, &layout_3_10, &layout_3_11,
                                                    &layout_3_12};
        return minor >= LAYOUT_MINOR_OLDEST && minor <= LAYOUT_MINOR_TABLE
                   ? list[minor - LAYOUT_MINOR_OLDEST]
                   : NULL;
}

/* Groups of debug offsets that are used, in their order; each begins with the struct's size. */
enum group { GROUP_RUNTIME, GROUP_INTERPRETER, GROUP_THREAD, GROUP_FRAME, GROUP_CODE, GROUP_COUNT };

#define FIRST_GROUP 3 /* the words before it: cookie, version, free_threaded */
#define SIZE_MAX_STRUCT (64u << 20)

/*
 * An order of the words: how many each group has, and at which word of its group a member stands. A
 * member that is the same in all orders has its place in read_members.
 */
struct word_order {
        uint8_t minor_first, minor_last; /* the versions that may have it */
        uint8_t words[GROUP_COUNT];
        uint8_t interpreter_gil, gil_base, gil_locked, gil_holder; /* of GROUP_INTERPRETER */
        uint8_t thread_pthread;                                    /* of GROUP_THREAD */
};

static const struct word_order orders[] = {
    {13, 13, {3, 13, 9, 6, 10}, 8, 9, 11, 12, 5},
    /* 3.14: threads_main, stackpointer. */
    {14, 14, {3, 14, 9, 7, 10}, 9, 10, 12, 13, 5},
    /* Later ones of 3.14: code_object_generation, tlbc_generation, tlbc_index, co_tlbc. */
    {14, 15, {3, 16, 9, 8, 11}, 9, 10, 12, 13, 5},
    /* 3.15: base_frame and last_profiled_frame before the thread's ids. */
    {15, 15, {3, 16, 11, 8, 11}, 9, 10, 12, 13, 7},
    /* And with the exception's state behind them. */
    {15, 15, {3, 16, 13, 8, 11}, 9, 10, 12, 13, 7},
    /* As released: a count of profiled frames before them, and five words more behind. */
    {15, 15, {3, 16, 17, 8, 11}, 9, 10, 12, 13, 8},
};

struct layout_facts layout_read_facts(const uint64_t words[LAYOUT_WORDS])
{
        struct layout_facts f = {0};
        if (memcmp(words, "xdebugpy", sizeof(*words)) != 0 || words[1] >> 32 || words[2] > 1)
                return f;
        f.version = (uint32_t)words[1];
        f.free_threaded = words[2];
        return f;
}

/* Every member lies inside its struct. */
static bool group_is_consistent(const uint64_t *group, size_t n)
{
        if (group[0] == 0 || group[0] > SIZE_MAX_STRUCT)
                return false;
        for (size_t i = 1; i < n; i++) {
                if (group[i] >= group[0])
                        return false;
        }
        return true;
}

static void read_members(const uint64_t *const g[GROUP_COUNT], const struct word_order *o,
                         struct layout *l)
{
        const uint64_t *interpreter = g[GROUP_INTERPRETER], *thread = g[GROUP_THREAD],
                       *frame = g[GROUP_FRAME], *code = g[GROUP_CODE];
        l->runtime_interpreters = (uint32_t)g[GROUP_RUNTIME][2];
        l->interpreter_next = (uint32_t)interpreter[2];
        l->interpreter_threads = (uint32_t)interpreter[3];
        l->interpreter_gil = (uint32_t)interpreter[o->interpreter_gil];
        l->gil_locked = (uint32_t)(interpreter[o->gil_locked] - interpreter[o->gil_base]);
        l->gil_holder = (uint32_t)(interpreter[o->gil_holder] - interpreter[o->gil_base]);
        l->thread_next = (uint32_t)thread[2];
        l->thread_interpreter = (uint32_t)thread[3];
        l->thread_current = (uint32_t)thread[4];
        l->thread_pthread = (uint32_t)thread[o->thread_pthread];
        l->thread_native = (uint32_t)thread[o->thread_pthread + 1];
        l->frame_previous = (uint32_t)frame[1];
        l->frame_code = (uint32_t)frame[2];
        l->frame_instruction = (uint32_t)frame[3];
        l->frame_owner = (uint32_t)frame[5];
        l->code_file = (uint32_t)code[1];
        l->code_name = (uint32_t)code[2];
        l->code_qualname = (uint32_t)code[3];
        l->code_lines = (uint32_t)code[4];
        l->code_first_line = (uint32_t)code[5];
        l->code_bytecode = (uint32_t)code[9];
}

int layout_read(const uint64_t words[LAYOUT_WORDS], unsigned k, struct layout *ret)
{
        if (k >= ARRAY_LEN(orders))
                return -ENOENT;
        const struct word_order *o = &orders[k];
        unsigned minor = layout_read_facts(words).version >> 16 & 0xff;
        const uint64_t *groups[GROUP_COUNT], *at = words + FIRST_GROUP;
        if (minor < o->minor_first || minor > o->minor_last)
                return -EAGAIN;
        for (int i = 0; i < GROUP_COUNT; at += o->words[i], i++) {
                groups[i] = at;
                if (!group_is_consistent(at, o->words[i]))
                        return -EAGAIN;
        }
        struct layout l = {.lines = LINES_LOCATIONS,
                           .minor = (uint8_t)minor,
                           .owner_without_code = 3,
                           .text_ascii = layout_3_12.text_ascii,
                           .text_compact = layout_3_12.text_compact};
        read_members(groups, o, &l);
        /* Members of a struct that have stood beside each other in every version. */
        if (l.gil_locked >= SIZE_MAX_STRUCT || l.gil_holder >= SIZE_MAX_STRUCT ||
            l.code_name != l.code_file + 8 || l.code_qualname != l.code_name + 8 ||
            l.thread_native != l.thread_pthread + 8)
                return -EAGAIN;
        *ret = l;
        return 0;
}
