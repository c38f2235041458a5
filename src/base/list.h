/* Arrays that grow. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Room for one more in an array of n entries with room for cap, which doubles when it is full.
 * False when memory is short; the array stays as it is. */
#define LIST_ROOM(list, n, cap) ((n) < (cap) || list_grow(&(list), &(cap), sizeof(*(list))))
/* The same for an array that is as long as its entries: a short one, or one that rarely grows. */
#define LIST_ONE_MORE(list, n) list_resize(&(list), (n) + 1, sizeof(*(list)))

/* Room for n entries, and no more. */
#define LIST_RESERVE(list, n, cap) list_reserve(&(list), &(cap), n, sizeof(*(list)))

/* As many entries as wanted in an array of n, which becomes as long: the new ones are zero. */
#define LIST_EXTEND(list, n, wanted) list_extend(&(list), &(n), wanted, sizeof(*(list)))
/* Exactly n entries, whatever there were. */
#define LIST_RESIZE(list, n) list_resize(&(list), n, sizeof(*(list)))

/* list points at the pointer to the array. */
bool list_grow(void *list, size_t *cap, size_t entry);
bool list_reserve(void *list, size_t *cap, size_t n, size_t entry);
bool list_extend(void *list, size_t *n, size_t wanted, size_t entry);
bool list_resize(void *list, size_t n, size_t entry);
