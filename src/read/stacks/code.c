#include "read/stacks/code.h"

#include "base/attr.h"
#include "base/list.h"

#include <string.h>

void code_cache_finish(struct code_cache *c)
{
        free(c->codes);
        free(c->places);
        lookup_finish(&c->by_address);
        lookup_finish(&c->by_place);
        *c = (struct code_cache){0};
}

void code_cache_clear(struct code_cache *c)
{
        c->n_codes = c->n_places = 0;
        lookup_clear(&c->by_address);
        lookup_clear(&c->by_place);
}

static bool begins_with(const char *s, const char *start)
{
        return strncmp(s, start, strlen(start)) == 0;
}

/* "/usr/lib/python3.11/json/decoder.py": below a folder of the interpreter's own library. */
static bool is_of_standard_library(const char *file)
{
        static const char start[] = "python3.";
        for (const char *s = file; (s = strstr(s, start)); s++) {
                const char *end = s + strlen(start);
                end += strspn(end, "0123456789t");
                if (*end == '/' && s > file && s[-1] == '/' && end > s + strlen(start))
                        return true;
        }
        return false;
}

enum stack_whose code_whose(const char *file)
{
        static const char *const typed[] = {"<string>", "<stdin>", "<ipython", "<cell", "<python"};
        static const char *const installed[] = {"/site-packages/", "/dist-packages/",
                                                "/torchinductor_"};
        for (size_t i = 0; i < ARRAY_LEN(installed); i++) {
                if (strstr(file, installed[i]))
                        return STACK_LIBRARY;
        }
        for (size_t i = 0; i < ARRAY_LEN(typed); i++) {
                if (begins_with(file, typed[i]))
                        return STACK_USER;
        }
        if (begins_with(file, "<frozen ") || is_of_standard_library(file))
                return STACK_INTERPRETER;
        /* "<attrs generated init …>", "<__array_function__ internals>": libraries make these. */
        return file[0] == '<' ? STACK_LIBRARY : STACK_USER;
}

static uint32_t intern_name(struct code_cache *c, struct remote *r, const struct runtime *rt,
                            struct stack_table *table, uint64_t addr)
{
        if (!runtime_read_text(r, &rt->layout, addr, c->text, sizeof(c->text)))
                strcpy(c->text, "?");
        return stack_intern_text(table, c->text, strlen(c->text));
}

/* Learns what is at an address, in a new place of the list or over what was present. */
static void learn_code(struct code_cache *c, struct remote *r, const struct runtime *rt,
                       struct stack_table *table, uint64_t address, const struct runtime_code *is,
                       struct code *ret)
{
        *ret = (struct code){.address = address, .is = *is};
        ret->file = intern_name(c, r, rt, table, is->file);
        ret->whose = code_whose(c->text);
        ret->function = intern_name(c, r, rt, table, is->qualname ? is->qualname : is->name);
}

static uint32_t hash_number(uint64_t v)
{
        return hash_text((const char *)&v, sizeof(v));
}

static bool is_same_code(const struct runtime_code *a, const struct runtime_code *b)
{
        return a->type == b->type && a->file == b->file && a->name == b->name &&
               a->qualname == b->qualname && a->lines == b->lines && a->bytecode == b->bytecode &&
               a->units == b->units && a->first_line == b->first_line;
}

/* The code object's place in the list; LOOKUP_END when memory is short. */
static uint32_t find_code(struct code_cache *c, struct remote *r, const struct runtime *rt,
                          struct stack_table *table, uint64_t address,
                          const struct runtime_code *is)
{
        uint32_t hash = hash_number(address), id;
        for (size_t step = 0; (id = lookup_next(&c->by_address, hash, &step)) != LOOKUP_END;) {
                if (c->codes[id].address != address)
                        continue;
                if (is_same_code(&c->codes[id].is, is))
                        return id;
                c->codes[id].address = 0; /* its places stay behind, until all is forgotten */
                break;
        }
        if (c->n_codes == CODES_MAX)
                code_cache_clear(c);
        if (!LIST_ROOM(c->codes, c->n_codes, c->codes_cap) ||
            !lookup_put(&c->by_address, hash, (uint32_t)c->n_codes))
                return LOOKUP_END;
        learn_code(c, r, rt, table, address, is, &c->codes[c->n_codes]);
        return (uint32_t)c->n_codes++;
}

static uint32_t intern_place(struct remote *r, const struct runtime *rt, struct stack_table *table,
                             const struct code *code, int64_t place)
{
        const struct stack_frame f = {.file = code->file,
                                      .function = code->function,
                                      .first_line = code->is.first_line,
                                      .line = runtime_find_line(r, rt, &code->is, place),
                                      .whose = code->whose};
        return stack_intern_frame(table, &f);
}

bool code_find_frame(struct code_cache *c, struct remote *r, const struct runtime *rt,
                     struct stack_table *table, const struct runtime_frame *f, uint32_t *ret)
{
        struct runtime_code is;
        int64_t place;
        if (!runtime_read_code(r, rt, f->code, &is) ||
            !runtime_place_instruction(rt, f->code, &is, f->instruction, &place))
                return false;
        uint32_t code = find_code(c, r, rt, table, f->code, &is), id;
        if (code == LOOKUP_END)
                return false;
        uint32_t hash = hash_number((uint64_t)code << 32 | (uint32_t)place);
        for (size_t step = 0; (id = lookup_next(&c->by_place, hash, &step)) != LOOKUP_END;) {
                if (c->places[id].code == code && c->places[id].place == place) {
                        *ret = c->places[id].frame;
                        return true;
                }
        }
        *ret = intern_place(r, rt, table, &c->codes[code], place);
        if (c->n_places == PLACES_MAX) {
                lookup_clear(&c->by_place);
                c->n_places = 0;
        }
        if (LIST_ROOM(c->places, c->n_places, c->places_cap) &&
            lookup_put(&c->by_place, hash, (uint32_t)c->n_places))
                c->places[c->n_places++] = (struct code_place){code, (int32_t)place, *ret};
        return true;
}
