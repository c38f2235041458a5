/* Names of users and groups. The real system's databases, or a tree's own /etc/passwd. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A name or a number. real: ask the system's databases; else <root>/etc/passwd. */
bool users_find(int root, bool real, const char *text, uint32_t *ret);
/* The name, or the number when there is none. Asks a directory service perhaps: keep the answer. */
void users_name(bool real, uint32_t uid, char *ret, size_t size);
void users_group(bool real, uint32_t gid, char *ret, size_t size);
