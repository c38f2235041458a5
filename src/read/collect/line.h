/* What a collector says: a line with one number, and behind it a unit where there is one. */
#pragma once

#include "base/err.h"
#include "model/collected.h"

#include <stddef.h>

#define COLLECT_LINE_MAX 128

/* Fills value and unit. False when it is not one finite number and at most one plain word. */
bool collect_parse_line(const char *s, size_t len, struct collected *ret);

/* Where a number comes from. */
struct collect_item {
        char name[COLLECTED_NAME_MAX];
        char *from; /* a command line of the shell, or the path of a socket; owned */
        bool is_socket;
};

struct collect_list {
        struct collect_item items[COLLECTED_MAX];
        size_t n;
};

/*
 * Reads NAME=COMMAND or NAME=unix:PATH, one a line. A name has letters, digits and _ and begins
 * with a letter, as a metric has to. 0 or ERR_USAGE or -ENOMEM with err; finish ret either way.
 */
int collect_parse_list(const char *text, struct collect_list *ret, struct err *err);
void collect_list_finish(struct collect_list *list);
