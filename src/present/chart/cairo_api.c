#include "present/chart/cairo_api.h"

#include "base/symbol.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>

static int cairo_api_refuse(struct err *err, const char *why)
{
        err_set(err, -ENOSYS, "PNG, JPEG and PDF need the library cairo: %s", why);
        return err_hint_install(err, "libcairo2", "cairo", "or write SVG: -o FILE.svg");
}

int cairo_api_load(struct cairo_api *ret, struct err *err)
{
        void *library = dlopen("libcairo.so.2", RTLD_NOW | RTLD_LOCAL);
        if (!library)
                return cairo_api_refuse(err, "libcairo.so.2 is not installed");
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
                if (!symbol_find(library, calls[i].name, calls[i].to))
                        return cairo_api_refuse(err,
                                                "the one installed is too old, 1.16 is needed");
        }
        *ret = api;
        return 0;
}
