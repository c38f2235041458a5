#include "formats/zip_api.h"

#include "base/symbol.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>

static int zip_api_refuse(struct err *err, const char *why)
{
        err_set(err, -ENOSYS, "zip files need the library libarchive: %s", why);
        return err_hint_install(err, "libarchive13", "libarchive",
                                "or unpack the file and give the folder; a session can also be "
                                "written as .csv or .jsonl");
}

int zip_api_load(struct zip_api *ret, struct err *err)
{
        void *library = dlopen("libarchive.so.13", RTLD_NOW | RTLD_LOCAL);
        if (!library)
                return zip_api_refuse(err, "libarchive.so.13 is not installed");
        struct zip_api api;
        const struct {
                const char *name;
                void *to;
        } calls[] = {
#define ZIP_CALL(name) {#name, &api.name},
            ZIP_CALLS(ZIP_CALL)
#undef ZIP_CALL
        };
        for (size_t i = 0; i < ARRAY_LEN(calls); i++) {
                if (!symbol_find(library, calls[i].name, calls[i].to))
                        return zip_api_refuse(err, "the one installed is too old");
        }
        *ret = api;
        return 0;
}
