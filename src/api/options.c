#include "api/api.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* Options that only the library has. */
#define OWN_DURABLE "durable"
#define OWN_HARDWARE_MONITOR "hardware-monitor"

assay_options *assay_options_new(void)
{
        return calloc(1, sizeof(struct assay_options));
}

void api_options_finish(struct assay_options *options)
{
        config_finish(&options->config);
        free(options->hw_folder);
        options->hw_folder = NULL;
}

void assay_options_free(assay_options *options)
{
        if (!options)
                return;
        api_options_finish(options);
        free(options);
}

const struct config *api_config(const assay_options *options)
{
        static const struct config empty;
        return options ? &options->config : &empty;
}

char *api_absolute(const char *path)
{
        char folder[4096], *full;
        if (path[0] == '/' || path[0] == '\0' || !getcwd(folder, sizeof(folder)))
                return strdup(path);
        return asprintf(&full, "%s/%s", folder, path) < 0 ? NULL : full;
}

int api_options_copy(const assay_options *options, struct assay_options *ret)
{
        *ret = (struct assay_options){0};
        if (!options)
                return 0;
        ret->careless = options->careless;
        if (options->hw_folder && !(ret->hw_folder = strdup(options->hw_folder)))
                return -ENOMEM;
        return config_copy(&options->config, &ret->config);
}

static int set_durable(assay_options *o, const char *value, struct assay_error *error)
{
        static const char *const words[][2] = {
            {"yes", "no"}, {"true", "false"}, {"1", "0"}, {"on", "off"}};
        for (size_t i = 0; value && i < ARRAY_LEN(words); i++) {
                for (int no = 0; no < 2; no++) {
                        if (strcmp(value, words[i][no]) == 0)
                                return o->careless = no, 0;
                }
        }
        if (!value)
                return o->careless = false, 0;
        return api_fail(error, ASSAY_E_USAGE, "durable: that is not yes or no",
                        "'no' does without waiting for the disk");
}

static int set_folder(assay_options *o, const char *value, struct assay_error *error)
{
        char *copy = value ? strdup(value) : NULL;
        if (value && !copy)
                return api_fail(error, -ENOMEM, "out of memory", "");
        free(o->hw_folder);
        o->hw_folder = copy;
        return 0;
}

int assay_options_set(assay_options *options, const char *name, const char *value,
                      struct assay_error *error)
{
        struct err err = {0};
        if (!options || !name)
                return api_fail(error, ASSAY_E_USAGE, "there are no options to set, or no name",
                                "give what assay_options_new gave, and a name");
        if (strcmp(name, OWN_DURABLE) == 0)
                return set_durable(options, value, error);
        if (strcmp(name, OWN_HARDWARE_MONITOR) == 0)
                return set_folder(options, value, error);
        int r = config_set(&options->config, name, value, &err);
        return r < 0 ? api_error(error, &err) : 0;
}
