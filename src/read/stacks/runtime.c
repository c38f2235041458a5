#include "read/stacks/runtime.h"

#include "base/attr.h"

#include <stdio.h>
#include <string.h>

#define NEXT_MAX 4096        /* thread states of one interpreter */
#define UNITS_MAX (8u << 20) /* of bytecode */
#define BYTES_SIZE_AT 16     /* of a bytes object, and of all with a length */
#define BYTES_DATA_AT 32
#define TYPE_AT 8   /* in every object */
#define STATE_AT 32 /* of a str */
#define CHARACTERS_MAX (1u << 30)
#define POINTER 8
#define TAG_BITS 7u /* of pointers in frames, from 3.14 on */

/* 3.8 to 3.10: the code's bytes are an object of their own. */
static bool has_bytes_object(const struct layout *l)
{
        return l->minor <= 10;
}

void runtime_put_version(const struct runtime *rt, char *to, size_t size)
{
        static const char *const levels[16] = {[0xa] = "a", [0xb] = "b", [0xc] = "rc"};
        unsigned level = rt->version >> 4 & 15;
        int n = snprintf(to, size, "%u.%u", rt->version >> 24, rt->version >> 16 & 0xff);
        if (rt->micro_is_known && n > 0 && (size_t)n < size)
                n += snprintf(to + n, size - (size_t)n, ".%u", rt->version >> 8 & 0xff);
        if (rt->micro_is_known && levels[level] && (size_t)n < size)
                snprintf(to + n, size - (size_t)n, "%s%u", levels[level], rt->version & 15);
}

static size_t put_utf8(uint32_t c, char to[4])
{
        if (c < 0x80) {
                to[0] = (char)c;
                return 1;
        }
        size_t n = c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
        for (size_t i = n; i-- > 1; c >>= 6)
                to[i] = (char)(0x80 | (c & 0x3f));
        to[0] = (char)((0xf00u >> n & 0xff) | c);
        return n;
}

static uint32_t character_at(const uint8_t *s, size_t i, unsigned width)
{
        return width == 1   ? s[i]
               : width == 2 ? (uint32_t)(s[2 * i] | s[2 * i + 1] << 8)
                            : remote_u32(s + 4 * i) & 0x1fffff;
}

bool runtime_read_text(struct remote *r, const struct layout *l, uint64_t addr, char *to,
                       size_t size)
{
        const uint8_t *at = remote_get(r, addr, STATE_AT + sizeof(uint32_t));
        if (!at)
                return false;
        uint64_t length = remote_u64(at + BYTES_SIZE_AT);
        uint32_t state = remote_u32(at + STATE_AT), width = state >> 2 & 7;
        bool compact = state >> 5 & 1, ascii = state >> 6 & 1;
        if (length > CHARACTERS_MAX || !compact || (width != 1 && width != 2 && width != 4))
                return false;
        uint64_t kept = MIN(length, (uint64_t)size - 1), left_out = length - kept;
        at = remote_get(r, addr + (ascii ? l->text_ascii : l->text_compact) + left_out * width,
                        kept * width);
        if (!at && kept > 0)
                return false;
        size_t used = 0, n;
        char letter[4];
        for (size_t i = 0; i < kept; i++, used += n) {
                n = put_utf8(character_at(at, i, width), letter);
                if (n >= size - used)
                        break;
                memcpy(to + used, letter, n);
        }
        to[used] = '\0';
        return true;
}

/* Where the GIL of an interpreter is: what gil_holder and gil_locked count from. */
static bool find_gil(struct remote *r, const struct runtime *rt, uint64_t interpreter,
                     uint64_t *ret)
{
        if (rt->layout.interpreter_gil)
                return remote_pointer(r, interpreter + rt->layout.interpreter_gil, ret);
        *ret = rt->address;
        return rt->address;
}

/* 0 when nobody holds it, or that cannot be read. */
static uint64_t read_holder(struct remote *r, const struct runtime *rt, uint64_t interpreter)
{
        uint64_t gil, holder = 0;
        if (rt->current)
                return remote_pointer(r, rt->current, &holder) ? holder : 0;
        if (!find_gil(r, rt, interpreter, &gil))
                return 0;
        const uint8_t *locked = remote_get(r, gil + rt->layout.gil_locked, sizeof(uint32_t));
        if (!locked || remote_u32(locked) != 1)
                return 0;
        return remote_pointer(r, gil + rt->layout.gil_holder, &holder) ? holder : 0;
}

/* How much of a thread state is read at once. */
static size_t thread_bytes(const struct layout *l)
{
        uint32_t end = MAX(l->thread_pthread, l->thread_native);
        end = MAX(end, MAX(l->thread_next, l->thread_interpreter));
        return MAX(end, l->thread_cframe ? l->thread_cframe : l->thread_current) + POINTER;
}

/* false when the thread state is not this interpreter's. */
static bool parse_thread(struct remote *r, const struct layout *l, uint64_t *ret_next,
                         struct runtime_thread *t)
{
        const uint8_t *at = remote_get(r, t->address, thread_bytes(l));
        if (!at || remote_u64(at + l->thread_interpreter) != t->interpreter)
                return false;
        *ret_next = remote_u64(at + l->thread_next);
        t->pthread = remote_u64(at + l->thread_pthread);
        t->native = l->thread_native ? remote_u32(at + l->thread_native) : 0;
        t->current = 0;
        if (!l->thread_cframe)
                t->current = remote_u64(at + l->thread_current);
        else
                remote_pointer(r, remote_u64(at + l->thread_cframe) + l->thread_current,
                               &t->current);
        return true;
}

bool runtime_read_thread(struct remote *r, const struct runtime *rt, struct runtime_thread *t)
{
        uint64_t next;
        return parse_thread(r, &rt->layout, &next, t);
}

static size_t list_interpreters(struct remote *r, const struct runtime *rt,
                                uint64_t list[RUNTIME_INTERPRETERS_MAX])
{
        uint64_t at;
        size_t n = 0;
        if (!remote_pointer(r, rt->interpreters, &at))
                return 0;
        while (at && n < RUNTIME_INTERPRETERS_MAX) {
                list[n++] = at;
                if (!remote_pointer(r, at + rt->layout.interpreter_next, &at))
                        break;
        }
        return n;
}

size_t runtime_list_threads(struct remote *r, const struct runtime *rt, struct runtime_thread *list,
                            size_t max)
{
        uint64_t interpreters[RUNTIME_INTERPRETERS_MAX], at;
        size_t n = 0, n_interpreters = list_interpreters(r, rt, interpreters);
        for (size_t i = 0; i < n_interpreters; i++) {
                uint64_t holder = read_holder(r, rt, interpreters[i]);
                if (!remote_pointer(r, interpreters[i] + rt->layout.interpreter_threads, &at))
                        continue;
                for (int k = 0; at && k < NEXT_MAX && n < max; k++) {
                        struct runtime_thread t = {.address = at, .interpreter = interpreters[i]};
                        if (!parse_thread(r, &rt->layout, &at, &t))
                                break;
                        t.holds_gil = t.address == holder;
                        list[n++] = t;
                }
        }
        return n;
}

size_t runtime_list_holders(struct remote *r, const struct runtime *rt, uint64_t *list, size_t max)
{
        uint64_t interpreters[RUNTIME_INTERPRETERS_MAX], last = 0;
        size_t n = 0, n_interpreters = list_interpreters(r, rt, interpreters);
        for (size_t i = 0; i < n_interpreters && n < max; i++) {
                uint64_t holder = read_holder(r, rt, interpreters[i]);
                if (holder && holder != last)
                        list[n++] = last = holder;
        }
        return n;
}

bool runtime_read_frame(struct remote *r, const struct runtime *rt, uint64_t addr,
                        struct runtime_frame *ret)
{
        const struct layout *l = &rt->layout;
        uint32_t end = MAX(MAX(l->frame_code, l->frame_previous), l->frame_instruction);
        const uint8_t *at = remote_get(r, addr, MAX(end + POINTER, l->frame_owner + 1));
        if (!at)
                return false;
        ret->code = remote_u64(at + l->frame_code) & ~(uint64_t)TAG_BITS;
        ret->previous = remote_u64(at + l->frame_previous);
        ret->instruction = l->instruction_is_index ? (int32_t)remote_u32(at + l->frame_instruction)
                                                   : (int64_t)remote_u64(at + l->frame_instruction);
        ret->has_code = !l->frame_owner || at[l->frame_owner] < l->owner_without_code;
        return true;
}

bool runtime_read_code(struct remote *r, const struct runtime *rt, uint64_t addr,
                       struct runtime_code *ret)
{
        const struct layout *l = &rt->layout;
        uint32_t end = MAX(MAX(l->code_file, l->code_name), MAX(l->code_qualname, l->code_lines));
        end = MAX(end, l->code_first_line);
        if (has_bytes_object(l))
                end = MAX(end, l->code_bytecode);
        const uint8_t *at = remote_get(r, addr, end + POINTER);
        if (!at)
                return false;
        *ret = (struct runtime_code){.type = remote_u64(at + TYPE_AT),
                                     .file = remote_u64(at + l->code_file),
                                     .name = remote_u64(at + l->code_name),
                                     .qualname =
                                         l->code_qualname ? remote_u64(at + l->code_qualname) : 0,
                                     .lines = remote_u64(at + l->code_lines),
                                     .first_line = remote_u32(at + l->code_first_line)};
        if (has_bytes_object(l))
                ret->bytecode = remote_u64(at + l->code_bytecode);
        else
                ret->units = remote_u64(at + BYTES_SIZE_AT);
        return true;
}

bool runtime_place_instruction(const struct runtime *rt, uint64_t code,
                               const struct runtime_code *c, int64_t instruction, int64_t *ret)
{
        const struct layout *l = &rt->layout;
        if (c->type != rt->code_type)
                return false;
        if (l->instruction_is_index) {
                /* 3.10 counts instructions, versions before it bytes. */
                int64_t place = l->minor == 10 ? 2 * instruction : instruction;
                *ret = MAX(place, (int64_t)-1);
                return place < 2 * (int64_t)UNITS_MAX;
        }
        int64_t place = instruction - (int64_t)(code + l->code_bytecode);
        *ret = MAX(place, (int64_t)-1);
        return c->units <= UNITS_MAX && place >= -2 && place < 2 * (int64_t)c->units;
}

uint32_t runtime_find_line(struct remote *r, const struct runtime *rt, const struct runtime_code *c,
                           int64_t place)
{
        uint8_t head[BYTES_DATA_AT];
        if (!remote_copy(r, c->lines, head, sizeof(head)))
                return 0;
        size_t n = (size_t)MIN(remote_u64(head + BYTES_SIZE_AT), (uint64_t)REMOTE_READ_MAX);
        const uint8_t *table = remote_get_once(r, c->lines + BYTES_DATA_AT, n);
        return !table ? 0 : lines_find(rt->layout.lines, table, n, c->first_line, place);
}
