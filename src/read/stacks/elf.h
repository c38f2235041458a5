/*
 * Symbols of a program or a library that is mapped in another process, by its dynamic symbol table
 * there: this needs no file, so it works in other mount namespaces and for files that were replaced
 * or removed. Everything in it may lie; all is bounded.
 */
#pragma once

#include "read/stacks/remote.h"

struct elf_image {
        uint64_t bias;             /* what to add to an address of the file */
        uint64_t symbols, strings; /* addresses */
        uint64_t gnu_hash, hash;   /* addresses; 0 for none */
        uint64_t strings_size;
        uint64_t data_begin, data_end; /* the segment that may be written, in memory */
};

/* Reads the headers of what is mapped from its first byte at base on. 0, or -ENOEXEC when it is not
 * an ELF of this machine or has no dynamic symbols. */
int elf_open(struct remote *r, uint64_t base, struct elf_image *ret);
/* The address of a symbol that it defines. False when it defines none of that name. */
bool elf_find(struct remote *r, const struct elf_image *e, const char *name, uint64_t *ret);
