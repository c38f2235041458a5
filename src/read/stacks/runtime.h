/*
 * CPython in another process: where its runtime is and how its structs lie. Found by symbols,
 * checked against what is present: a thread points back at its interpreter, its code has a name of
 * text and a line for what it runs. What does not fit is not read.
 */
#pragma once

#include "read/stacks/layout.h"
#include "read/stacks/remote.h"

#define RUNTIME_WHY_MAX 120
#define RUNTIME_INTERPRETERS_MAX 64

struct runtime {
        struct layout layout;
        uint32_t version; /* as PY_VERSION_HEX; the micro version is 0 where it is not reported */
        bool micro_is_known;
        uint64_t address;      /* of _PyRuntime; 0 in 3.6 */
        uint64_t interpreters; /* where the pointer to the first interpreter is */
        uint64_t current;      /* where 3.6 has the thread that holds the GIL; else 0 */
        uint64_t code_type;    /* of code objects */
};

enum runtime_found {
        RUNTIME_FOUND,
        RUNTIME_NONE,        /* no interpreter that is known */
        RUNTIME_STARTING,    /* there is one, and no Python code runs yet: check again */
        RUNTIME_UNSUPPORTED, /* there is one that cannot be read; why says so */
};

/* Looks for it in the images at these addresses, the first that has one. r has begun a snapshot. */
enum runtime_found runtime_find(struct remote *r, const uint64_t *bases, size_t n,
                                struct runtime *ret, char why[RUNTIME_WHY_MAX]);
/* "3.11.7", or "3.9" where the rest is unknown. */
void runtime_put_version(const struct runtime *rt, char *to, size_t size);

/*
 * Text of a str object, as UTF-8 with a NUL. Its last part when it is longer than fits. False when
 * it is not a text.
 */
bool runtime_read_text(struct remote *r, const struct layout *l, uint64_t addr, char *to,
                       size_t size);

/* The thread states of all interpreters, at most that many; how many. */
struct runtime_thread {
        uint64_t address, interpreter;
        uint64_t pthread; /* the address of its pthread structure */
        uint32_t native;  /* the kernel's id in the program's own namespace; 0: not reported */
        uint64_t current; /* its innermost frame; 0: runs no Python */
        bool holds_gil;
};
size_t runtime_list_threads(struct remote *r, const struct runtime *rt, struct runtime_thread *list,
                            size_t max);
/* Reads one again whose address and interpreter are known. False when it is not a thread of that
 * interpreter any more. */
bool runtime_read_thread(struct remote *r, const struct runtime *rt, struct runtime_thread *t);
/* Addresses of thread states that hold a GIL now, at most max; how many. */
size_t runtime_list_holders(struct remote *r, const struct runtime *rt, uint64_t *list, size_t max);

/* A frame, as far as it is the same in all versions. */
struct runtime_frame {
        uint64_t code, previous;
        int64_t instruction; /* an address, or from the code's beginning in layout's units */
        bool has_code;       /* false: a frame of the interpreter's own */
};
bool runtime_read_frame(struct remote *r, const struct runtime *rt, uint64_t addr,
                        struct runtime_frame *ret);

/* What identifies a code object: when all are the same it is the same one. */
struct runtime_code {
        uint64_t type, file, name, qualname, lines, bytecode;
        uint64_t units; /* of bytecode, 2 bytes each; 0: unknown */
        uint32_t first_line;
};
bool runtime_read_code(struct remote *r, const struct runtime *rt, uint64_t addr,
                       struct runtime_code *ret);
/* Whether it is a code object and the frame's instruction is one of it; the instruction's place in
 * bytes, -1 before the first. */
bool runtime_place_instruction(const struct runtime *rt, uint64_t code,
                               const struct runtime_code *c, int64_t instruction, int64_t *ret);
/* The line at a place in the code: 0 when there is none, or the table cannot be read. */
uint32_t runtime_find_line(struct remote *r, const struct runtime *rt, const struct runtime_code *c,
                           int64_t place);
