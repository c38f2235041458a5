/*
 * Makes a C file of the page's parts: embed PATH TYPE FILE … > page_data.c. Run by the build, so
 * that the program needs no files of its own.
 */
#include <stdio.h>
#include <stdlib.h>

static void put_file(const char *name)
{
        FILE *f = fopen(name, "rb");
        unsigned column = 0;
        if (!f) {
                perror(name);
                exit(1);
        }
        for (int c = getc(f); c != EOF; c = getc(f)) {
                printf("%d,", c > 127 ? c - 256 : c);
                if (++column % 32 == 0)
                        putchar('\n');
        }
        fclose(f);
}

int main(int argc, char **argv)
{
        puts("#include \"present/page/page.h\"\n");
        for (int i = 1; i + 2 < argc; i += 3) {
                printf("static const char data_%d[] = {", i);
                put_file(argv[i + 2]);
                puts("0};");
        }
        puts("const struct page_part page_parts[] = {");
        for (int i = 1; i + 2 < argc; i += 3)
                printf("{\"%s\", \"%s\", data_%d, sizeof(data_%d) - 1},\n", argv[i], argv[i + 1], i,
                       i);
        puts("{0},\n};");
        return 0;
}
