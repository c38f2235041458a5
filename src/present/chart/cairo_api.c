#include "present/chart/cairo_api.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>

static int refuse(struct err *err, const char *why)
{
        err_set(err, -ENOSYS, "PNG, JPEG and PDF need the library cairo: %s", why);
        return err_hint(err, "install it ('apt-get install libcairo2'), or write SVG: -o FILE.svg");
}

int cairo_api_load(struct cairo_api *ret, struct err *err)
{
        void *library = dlopen("libcairo.so.2", RTLD_NOW | RTLD_LOCAL);
        if (!library)
                return refuse(err, "libcairo.so.2 is not installed");
        struct cairo_api api;
        const struct {
                const char *name;
                void *to;
        } calls[] = {
#define CAIRO_CALL(name) {"cairo_" #name, &api.name},
            CAIRO_CALLS(CAIRO_CALL)
#undef CAIRO_CALL
        };
        for (size_t i = 0; i < ARRAY_LEN(calls); i++) {
                void *symbol = dlsym(library, calls[i].name);
                if (!symbol)
                        return refuse(err, "the one installed is too old, 1.16 is needed");
                memcpy(calls[i].to, &symbol, sizeof(symbol));
        }
        *ret = api;
        return 0;
}
