#include "formats/zip_api.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>

static int cannot_load(struct err *err)
{
        err_set(err, -ENOSYS, "zip files need libarchive: %s", dlerror());
        return err_hint(err, "install it (libarchive13), or unpack the file and give the folder");
}

int zip_api_load(struct zip_api *ret, struct err *err)
{
        void *library = dlopen("libarchive.so.13", RTLD_NOW | RTLD_LOCAL);
        if (!library)
                return cannot_load(err);
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
                void *symbol = dlsym(library, calls[i].name);
                if (!symbol)
                        return cannot_load(err);
                memcpy(calls[i].to, &symbol, sizeof(symbol));
        }
        *ret = api;
        return 0;
}
