/* Functions of libraries that are loaded when they are needed. */
#pragma once

#include <dlfcn.h>
#include <stdbool.h>
#include <string.h>

/*
 * Puts a library's function into the pointer that ret points at: NULL, and false, where it has none
 * or the library is absent. ISO C has no cast from an object's pointer to a function's; POSIX
 * promises equal sizes.
 */
static inline bool symbol_find(void *library, const char *name, void *ret)
{
        void *symbol = library ? dlsym(library, name) : NULL;
        memcpy(ret, &symbol, sizeof(symbol));
        return symbol != NULL;
}
