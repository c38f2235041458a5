/* Command lines: the input is split at newlines into words. And the weights, and
 * lengths of time. */
#include "fuzz.h"

#include "base/clock.h"
#include "base/duration.h"
#include "compute/compute.h"
#include "config/config.h"

#include <stdlib.h>
#include <string.h>

#define WORDS_MAX 70

static const char *const commands[] = {"top", "once", "export", "run", "report", "mark", "nobody"};

static bool takes_command(const char *first)
{
        return strcmp(first, "run") == 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        char program[] = "assay", *argv[WORDS_MAX + 1] = {program};
        char *text = malloc(size + 1);
        struct config config = {0};
        struct err err = {0};
        struct weights weights;
        double seconds;
        int argc = 1;
        if (!text)
                abort();
        memcpy(text, data, size);
        text[size] = '\0';
        weights_parse(text, &weights, &err);
        if (duration_parse(text, &seconds) && !(seconds >= 0 && clock_from_seconds(seconds) >= 0))
                abort();
        for (char *rest = text, *word; argc < WORDS_MAX && (word = strsep(&rest, "\n"));)
                argv[argc++] = word;
        if (config_read_args(&config, argc, argv, takes_command, &err) < 0 && err.msg[0] == '\0')
                abort();
        for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
                err = (struct err){0};
                if (config_bind(&config, commands[i], &err) < 0 && err.msg[0] == '\0')
                        abort();
        }
        for (enum option o = 0; o < OPT_COUNT_OF; o++) {
                config_text(&config, o);
                config_number(&config, o);
        }
        config_finish(&config);
        free(text);
        return 0;
}
