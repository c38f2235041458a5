#include "read/prometheus/curl_api.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <string.h>

static int refuse(struct err *err, const char *why)
{
        err_set(err, ERR_NO_SOURCE, "cannot ask an exporter: %s", why);
        return err_hint(err, "install libcurl4 ('apt-get install libcurl4'), or save the text with "
                             "another tool and give the file: --source FILE");
}

/* ISO C has no cast from an object pointer to a function pointer; POSIX promises equal sizes. */
static bool find(void *library, const char *name, void *ret)
{
        void *symbol = dlsym(library, name);
        memcpy(ret, &symbol, sizeof(symbol));
        return symbol != NULL;
}

int curl_api_load(struct curl_api *ret, struct err *err)
{
        static const char *const names[] = {"libcurl.so.4", "libcurl-gnutls.so.4"};
        struct curl_api api;
        void *library = NULL;
        for (size_t i = 0; !library && i < ARRAY_LEN(names); i++)
                library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
        if (!library)
                return refuse(err, "libcurl is not installed");
#define CURL_FUNCTION(name)                                                                        \
        if (!find(library, "curl_" #name, &api.name))                                              \
                return refuse(err, "libcurl is too old: it has no curl_" #name);
        CURL_FUNCTIONS(CURL_FUNCTION)
#undef CURL_FUNCTION
        if (api.global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
                return refuse(err, "libcurl does not start");
        *ret = api;
        return 0;
}
