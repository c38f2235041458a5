#include "read/stacks/elf.h"
#include "read/stacks/runtime.h"

#include "base/attr.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define THREADS_CHECKED 32
#define FRAMES_CHECKED 64
#define TYPE_NAME_AT 24 /* in a type */
#define SCAN_STEP (128 * 1024)
#define SCAN_MAX (16 * 1024 * 1024)

/* What one image has. */
struct symbols {
        uint64_t runtime, code_type, version, head, current;
        unsigned minor; /* by what it exports; 0: unknown */
};

/* Functions that came with a version; the last one found is that of the image. From 3.11 on there
 * is Py_Version. */
static const struct {
        const char *name;
        unsigned minor;
} marks[] = {
    {"PyInterpreterState_Head", 6},
    {"PyInterpreterState_GetID", 7},
    {"PyCode_NewWithPosOnlyArgs", 8},
    {"PyFrame_GetBack", 9},
    {"PyIter_Send", 10},
};

static bool read_symbols(struct remote *r, const struct elf_image *e, struct symbols *s)
{
        uint64_t unused;
        *s = (struct symbols){0};
        elf_find(r, e, "_PyRuntime", &s->runtime);
        elf_find(r, e, "PyInterpreterState_Head", &s->head);
        if (!s->runtime && !s->head)
                return false;
        elf_find(r, e, "PyCode_Type", &s->code_type);
        elf_find(r, e, "Py_Version", &s->version);
        elf_find(r, e, "_PyThreadState_Current", &s->current);
        for (size_t i = 0; i < ARRAY_LEN(marks); i++) {
                if (elf_find(r, e, marks[i].name, &unused))
                        s->minor = marks[i].minor;
        }
        return true;
}

/*
 * 3.6 keeps its interpreters in a variable without a symbol. The function that gives it away is
 * one load relative to the next instruction, and a return.
 */
static uint64_t find_head_of_3_6(struct remote *r, uint64_t function)
{
        static const uint8_t load[] = {0x48, 0x8b, 0x05};
        const uint8_t *at = remote_get(r, function, 8);
        if (!at || memcmp(at, load, sizeof(load)) != 0 || at[7] != 0xc3)
                return 0;
        return function + 7 + (uint64_t)(int64_t)(int32_t)remote_u32(at + 3);
}

/* Whether a type's name is "code". */
static bool is_code_type(struct remote *r, uint64_t type)
{
        uint64_t name;
        if (!remote_pointer(r, type + TYPE_NAME_AT, &name))
                return false;
        const uint8_t *at = remote_get(r, name, sizeof("code"));
        return at && memcmp(at, "code", sizeof("code")) == 0;
}

/* Whether one frame makes sense: its code has a file that is text, and a line. Learns the type of
 * code objects where no symbol says it. */
static bool frame_fits(struct remote *r, struct runtime *rt, const struct runtime_frame *f)
{
        struct runtime_code c;
        int64_t place;
        char file[64];
        if (!runtime_read_code(r, rt, f->code, &c))
                return false;
        if (!rt->code_type && is_code_type(r, c.type))
                rt->code_type = c.type;
        return rt->code_type &&
               runtime_place_instruction(rt, f->code, &c, f->instruction, &place) &&
               runtime_read_text(r, &rt->layout, c.file, file, sizeof(file)) && file[0] &&
               runtime_read_text(r, &rt->layout, c.name, file, sizeof(file)) && file[0] &&
               runtime_find_line(r, rt, &c, place) > 0;
}

/* The program runs meanwhile, so a thread may be torn; of a wrong layout all are. */
static enum runtime_found verify_layout(struct remote *r, struct runtime *rt)
{
        struct runtime_thread threads[THREADS_CHECKED];
        uint64_t head;
        size_t seen = 0;
        if (!remote_pointer(r, rt->interpreters, &head))
                return RUNTIME_UNSUPPORTED;
        if (head == 0)
                return RUNTIME_STARTING;
        size_t n = runtime_list_threads(r, rt, threads, ARRAY_LEN(threads));
        for (size_t i = 0; i < n; i++) {
                struct runtime_frame f;
                uint64_t at = threads[i].current;
                for (int k = 0; at && k < FRAMES_CHECKED; k++, at = f.previous) {
                        if (!runtime_read_frame(r, rt, at, &f))
                                break;
                        if (!f.has_code)
                                continue;
                        seen++;
                        if (frame_fits(r, rt, &f))
                                return RUNTIME_FOUND;
                }
        }
        return n > 0 && seen == 0 ? RUNTIME_STARTING : RUNTIME_UNSUPPORTED;
}

static enum runtime_found refuse_runtime(char why[RUNTIME_WHY_MAX], const char *what,
                                         uint32_t version)
{
        snprintf(why, RUNTIME_WHY_MAX, "CPython %u.%u: %s", version >> 24, version >> 16 & 0xff,
                 what);
        return RUNTIME_UNSUPPORTED;
}

/* From 3.13 on. */
static enum runtime_found find_by_offsets(struct remote *r, const uint64_t words[LAYOUT_WORDS],
                                          struct runtime *rt, char why[RUNTIME_WHY_MAX])
{
        struct layout_facts facts = layout_read_facts(words);
        unsigned minor = facts.version >> 16 & 0xff;
        enum runtime_found best = RUNTIME_UNSUPPORTED;
        rt->version = facts.version;
        rt->micro_is_known = true;
        if (facts.version >> 24 != 3 || minor > LAYOUT_MINOR_NEWEST)
                return refuse_runtime(why, "newer than this program knows", facts.version);
        if (facts.free_threaded)
                return refuse_runtime(why, "free-threaded builds cannot be read", facts.version);
        int fits;
        for (unsigned k = 0; (fits = layout_read(words, k, &rt->layout)) != -ENOENT; k++) {
                if (fits < 0)
                        continue;
                rt->interpreters = rt->address + rt->layout.runtime_interpreters;
                enum runtime_found found = verify_layout(r, rt);
                if (found == RUNTIME_FOUND)
                        return found;
                if (found == RUNTIME_STARTING)
                        best = found;
        }
        return best == RUNTIME_STARTING
                   ? best
                   : refuse_runtime(why, "its debug offsets lead to nothing sensible",
                                    facts.version);
}

/* Up to 3.12. */
static enum runtime_found find_by_table(struct remote *r, const struct symbols *s,
                                        struct runtime *rt, char why[RUNTIME_WHY_MAX])
{
        const uint8_t *version = s->version ? remote_get(r, s->version, sizeof(uint32_t)) : NULL;
        unsigned minor = version ? remote_u32(version) >> 16 & 0xff : s->minor;
        const struct layout *l = layout_of_minor(minor);
        rt->version = version ? remote_u32(version) : 3u << 24 | minor << 16;
        rt->micro_is_known = version;
        if (rt->version >> 24 != 3 || !l)
                return refuse_runtime(why, "this version cannot be read", rt->version);
        rt->layout = *l;
        rt->interpreters = s->runtime + l->runtime_interpreters;
        if (!s->runtime) {
                rt->interpreters = find_head_of_3_6(r, s->head);
                rt->current = s->current;
        }
        enum runtime_found found = verify_layout(r, rt);
        return found == RUNTIME_UNSUPPORTED
                   ? refuse_runtime(why, "this build's structs are not where its version has them",
                                    rt->version)
                   : found;
}

static bool read_words(struct remote *r, uint64_t addr, uint64_t words[LAYOUT_WORDS])
{
        memset(words, 0, LAYOUT_WORDS * sizeof(*words));
        return remote_copy(r, addr, words, LAYOUT_WORDS * sizeof(*words));
}

/* An executable without symbols has its debug offsets all the same, from 3.13 on. 0: not found. */
static uint64_t scan_for_offsets(struct remote *r, const struct elf_image *e,
                                 uint64_t words[LAYOUT_WORDS])
{
        uint64_t end = MIN(e->data_end, e->data_begin + SCAN_MAX);
        for (uint64_t at = e->data_begin & ~(uint64_t)7; at < end; at += SCAN_STEP) {
                size_t n = (size_t)MIN(end - at, (uint64_t)SCAN_STEP);
                const uint8_t *piece = remote_get_once(r, at, n);
                if (!piece)
                        return 0;
                for (size_t i = 0; i + 8 <= n; i += 8) {
                        if (memcmp(piece + i, "xdebugpy", 8) == 0 && read_words(r, at + i, words) &&
                            layout_read_facts(words).version)
                                return at + i;
                }
        }
        return 0;
}

static enum runtime_found find_in_image(struct remote *r, uint64_t base, struct runtime *rt,
                                        char why[RUNTIME_WHY_MAX])
{
        struct elf_image e;
        struct symbols s;
        uint64_t words[LAYOUT_WORDS];
        *rt = (struct runtime){0};
        if (elf_open(r, base, &e) < 0)
                return RUNTIME_NONE;
        if (!read_symbols(r, &e, &s)) {
                rt->address = scan_for_offsets(r, &e, words);
                return rt->address ? find_by_offsets(r, words, rt, why) : RUNTIME_NONE;
        }
        rt->address = s.runtime;
        rt->code_type = s.code_type;
        if (s.runtime && !read_words(r, s.runtime, words))
                return RUNTIME_STARTING;
        if (s.runtime && layout_read_facts(words).version)
                return find_by_offsets(r, words, rt, why);
        return find_by_table(r, &s, rt, why);
}

enum runtime_found runtime_find(struct remote *r, const uint64_t *bases, size_t n,
                                struct runtime *ret, char why[RUNTIME_WHY_MAX])
{
        for (size_t i = 0; i < n; i++) {
                struct runtime rt;
                enum runtime_found found = find_in_image(r, bases[i], &rt, why);
                if (found != RUNTIME_NONE) {
                        *ret = rt;
                        return found;
                }
        }
        return RUNTIME_NONE;
}
