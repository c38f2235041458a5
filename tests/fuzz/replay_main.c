/* Runs a fuzzer over files and folders: every corpus file is also a test. */
#include "fuzz.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static int run_file(const char *path)
{
        FILE *f = fopen(path, "rb");
        if (!f || fseek(f, 0, SEEK_END) != 0)
                return perror(path), 1;
        long size = ftell(f);
        rewind(f);
        uint8_t *data = malloc(size > 0 ? (size_t)size : 1);
        size_t n = data ? fread(data, 1, (size_t)size, f) : 0;
        fclose(f);
        LLVMFuzzerTestOneInput(data, n);
        free(data);
        return 0;
}

static int run_folder(const char *path, int *count)
{
        struct dirent **names;
        int n = scandir(path, &names, NULL, alphasort), bad = 0;
        for (int i = 0; i < n; i++) {
                char file[4096];
                snprintf(file, sizeof(file), "%s/%s", path, names[i]->d_name);
                if (names[i]->d_name[0] != '.') {
                        bad += run_file(file);
                        ++*count;
                }
                free(names[i]);
        }
        if (n >= 0)
                free(names);
        return bad;
}

int main(int argc, char **argv)
{
        int count = 0, bad = 0;
        for (int i = 1; i < argc; i++) {
                struct stat st;
                if (stat(argv[i], &st) == 0 && S_ISDIR(st.st_mode))
                        bad += run_folder(argv[i], &count);
                else {
                        bad += run_file(argv[i]);
                        count++;
                }
        }
        printf("%d inputs\n", count);
        return bad || count == 0;
}
