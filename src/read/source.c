#include "read/source.h"

#include "read/listing.h"

#include <stdlib.h>
#include <string.h>

#define SOURCE(name) extern const struct source_ops source_##name;
#include "read/sources.def"
#undef SOURCE

static const struct source_ops *const table[] = {
#define SOURCE(name) &source_##name,
#include "read/sources.def"
#undef SOURCE
    NULL,
};

const struct source_ops *source_at(size_t i)
{
        return i < ARRAY_LEN(table) ? table[i] : NULL;
}

const struct source_ops *source_find(const char *name)
{
        for (size_t i = 0; table[i]; i++) {
                if (strcmp(table[i]->name, name) == 0)
                        return table[i];
        }
        return NULL;
}

bool source_keep_texts(struct source_config *config, struct source_texts *ret)
{
        const char **texts[] = {&config->location,  &config->token_file, &config->dcgmi,
                                &config->dcgm_host, &config->root,       &config->nvml_lib,
                                &config->rocm_lib,  &config->hosts,      &config->job,
                                &config->ssh,       &config->remote,     &config->backend};
        _Static_assert(ARRAY_LEN(texts) == ARRAY_LEN(ret->text), "a place for each");
        for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
                if (!*texts[i])
                        continue;
                ret->text[i] = strdup(*texts[i]);
                *texts[i] = ret->text[i];
                if (!ret->text[i])
                        return false;
        }
        ret->listing = listing_share(config->listing);
        return true;
}

void source_free_texts(struct source_texts *texts)
{
        listing_close(texts->listing);
        for (size_t i = 0; i < ARRAY_LEN(texts->text); i++)
                free(texts->text[i]);
}
