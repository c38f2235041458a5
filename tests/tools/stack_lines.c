/*
 * Reads line tables, one a line: kind (an enum line_table), first line, the table in hexadecimal or
 * "-", and places in the code. Prints the line of each place.
 */
#include "read/stacks/lines.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TABLE_MAX (1 << 20)

static size_t read_hex(const char *s, uint8_t *to)
{
        size_t n = 0;
        unsigned v;
        for (; *s != '-' && n < TABLE_MAX && sscanf(s, "%2x", &v) == 1; s += 2)
                to[n++] = (uint8_t)v;
        return n;
}

int main(void)
{
        static uint8_t table[TABLE_MAX];
        char *line = NULL, *save;
        size_t cap = 0;
        while (getline(&line, &cap, stdin) > 0) {
                char *kind = strtok_r(line, " \n", &save), *first = strtok_r(NULL, " \n", &save),
                     *hex = strtok_r(NULL, " \n", &save), *at;
                if (!kind || !first || !hex)
                        return 2;
                size_t n = read_hex(hex, table);
                while ((at = strtok_r(NULL, " \n", &save)))
                        printf("%u ", lines_find((enum line_table)atoi(kind), table, n,
                                                 (uint32_t)atol(first), atol(at)));
                printf("\n");
        }
        free(line);
        return 0;
}
