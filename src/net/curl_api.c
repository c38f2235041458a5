#include "net/curl_api.h"

#include "base/clock.h"
#include "base/symbol.h"
#include "base/trust.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <string.h>

static int curl_api_refuse(struct err *err, const char *why)
{
        err_set(err, ERR_NO_SOURCE, "HTTP needs the library libcurl: %s", why);
        return err_hint_install(err, "libcurl4", "libcurl",
                                "or save an exporter's text with another tool and give the file");
}

int curl_api_load(struct curl_api *ret, struct err *err)
{
        static const char *const names[] = {"libcurl.so.4", "libcurl-gnutls.so.4"};
        struct curl_api api;
        void *library = NULL;
        for (size_t i = 0; !library && i < ARRAY_LEN(names); i++)
                library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
        if (!library)
                return curl_api_refuse(err, "libcurl.so.4 is not installed");
#define CURL_FUNCTION(name)                                                                        \
        if (!symbol_find(library, "curl_" #name, &api.name))                                       \
                return curl_api_refuse(err, "the one installed is too old: it has no "             \
                                            "curl_" #name);
        CURL_FUNCTIONS(CURL_FUNCTION)
#undef CURL_FUNCTION
        if (api.global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
                return curl_api_refuse(err, "it does not start");
        *ret = api;
        return 0;
}

void curl_api_set(const struct curl_api *api, CURL *easy, const struct address *address,
                  int64_t timeout_ns, int64_t bytes_max)
{
        __typeof__(curl_easy_setopt) *set = api->easy_setopt;
        long timeout_ms = (long)(timeout_ns / NS_PER_MS);
        set(easy, CURLOPT_URL, address->url);
        set(easy, CURLOPT_PROTOCOLS, (long)(CURLPROTO_HTTP | CURLPROTO_HTTPS));
        set(easy, CURLOPT_FOLLOWLOCATION, 0L);
        set(easy, CURLOPT_NOSIGNAL, 1L);
        set(easy, CURLOPT_CONNECTTIMEOUT_MS, timeout_ms);
        set(easy, CURLOPT_TIMEOUT_MS, timeout_ms);
        set(easy, CURLOPT_MAXFILESIZE_LARGE, (curl_off_t)bytes_max);
        set(easy, CURLOPT_SSL_VERIFYPEER, 1L);
        set(easy, CURLOPT_SSL_VERIFYHOST, 2L);
        set(easy, CURLOPT_ACCEPT_ENCODING, "");
        set(easy, CURLOPT_USERAGENT, "assay");
        if (address->loopback)
                set(easy, CURLOPT_NOPROXY, "*");
        /* What OpenSSL's own tools and Go programs read; libcurl leaves it to its caller. */
        const char *ca = trust_env("SSL_CERT_FILE");
        if (ca && ca[0])
                set(easy, CURLOPT_CAINFO, ca);
}

struct curl_slist *curl_api_accept(const struct curl_api *api)
{
        return api->slist_append(
            NULL,
            "Accept: text/plain;version=0.0.4, application/openmetrics-text;q=0.5, */*;q=0.1");
}
