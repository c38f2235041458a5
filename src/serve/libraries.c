#include "serve/libraries.h"

#include "base/attr.h"
#include "base/symbol.h"
#include "build_features.h"

#include <crypt.h>
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#if FEATURE_MHD_INSIDE
/* Of packaging/portable: libmicrohttpd is linked in, GnuTLS is loaded when it is present. */
bool portable_has_tls(void);
int gnutls_certificate_verify_peers2(void *session, unsigned *status);

static enum MHD_Result has_feature(enum MHD_FEATURE feature)
{
        if (feature == MHD_FEATURE_TLS && !portable_has_tls())
                return MHD_NO;
        return MHD_is_feature_supported(feature);
}

int mhd_api_load(struct mhd_api *ret, struct err *err UNUSED)
{
        struct mhd_api api = {0};
#define MHD_FUNCTION(name) api.name = MHD_##name;
        MHD_FUNCTIONS(MHD_FUNCTION)
#undef MHD_FUNCTION
        api.is_feature_supported = has_feature;
        api.verify_peers = gnutls_certificate_verify_peers2;
        *ret = api;
        return 0;
}
#else
static int libraries_refuse(struct err *err, const char *why)
{
        err_set(err, ERR_NO_SOURCE, "cannot serve: %s", why);
        return err_hint_install(err, "libmicrohttpd12", "libmicrohttpd", NULL);
}

int mhd_api_load(struct mhd_api *ret, struct err *err)
{
        struct mhd_api api = {0};
        void *library = dlopen("libmicrohttpd.so.12", RTLD_NOW | RTLD_LOCAL);
        if (!library)
                return libraries_refuse(err, "libmicrohttpd is not installed");
#define MHD_FUNCTION(name)                                                                         \
        if (!symbol_find(library, "MHD_" #name, &api.name))                                        \
                return libraries_refuse(err, "libmicrohttpd is too old: it has no MHD_" #name);
        MHD_FUNCTIONS(MHD_FUNCTION)
#undef MHD_FUNCTION
        symbol_find(library, "gnutls_certificate_verify_peers2", &api.verify_peers);
        *ret = api;
        return 0;
}
#endif

/* --- zlib ---------------------------------------------------------------------------------- */

#define GZIP_WINDOW (15 + 16) /* zlib's way of asking for gzip's header */
#define GZIP_LEVEL 1          /* names come again and again: more effort gains little */
#define GZIP_MEMORY 8

struct zlib_api {
        __typeof__(deflateInit2_) *init;
        __typeof__(deflateBound) *bound;
        __typeof__(deflate) *run;
        __typeof__(deflateEnd) *end;
};

static bool load_zlib(struct zlib_api *z)
{
        void *library = dlopen("libz.so.1", RTLD_NOW | RTLD_LOCAL);
        return symbol_find(library, "deflateInit2_", &z->init) &&
               symbol_find(library, "deflateBound", &z->bound) &&
               symbol_find(library, "deflate", &z->run) &&
               symbol_find(library, "deflateEnd", &z->end);
}

bool zlib_gzip(const char *s, size_t n, char **ret, size_t *ret_n)
{
        struct zlib_api z;
        z_stream stream = {0};
        if (!load_zlib(&z) || z.init(&stream, GZIP_LEVEL, Z_DEFLATED, GZIP_WINDOW, GZIP_MEMORY,
                                     Z_DEFAULT_STRATEGY, ZLIB_VERSION, (int)sizeof(stream)) != Z_OK)
                return false;
        size_t most = z.bound(&stream, n);
        char *out = malloc(most);
        memcpy(&stream.next_in, &s, sizeof(s)); /* zlib does not write there */
        stream.avail_in = (uInt)n;
        stream.next_out = (Bytef *)out;
        stream.avail_out = (uInt)most;
        bool done = out && z.run(&stream, Z_FINISH) == Z_STREAM_END;
        size_t out_n = stream.total_out;
        z.end(&stream);
        if (!done) {
                free(out);
                return false;
        }
        *ret = out;
        *ret_n = out_n;
        return true;
}

struct unzip_api {
        __typeof__(inflateInit2_) *init;
        __typeof__(inflate) *run;
        __typeof__(inflateEnd) *end;
};

static bool load_unzip(struct unzip_api *z)
{
        void *library = dlopen("libz.so.1", RTLD_NOW | RTLD_LOCAL);
        return symbol_find(library, "inflateInit2_", &z->init) &&
               symbol_find(library, "inflate", &z->run) &&
               symbol_find(library, "inflateEnd", &z->end);
}

bool zlib_gunzip(const char *s, size_t n, size_t most, char **ret, size_t *ret_n)
{
        struct unzip_api z;
        z_stream stream = {0};
        if (!load_unzip(&z) ||
            z.init(&stream, GZIP_WINDOW, ZLIB_VERSION, (int)sizeof(stream)) != Z_OK)
                return false;
        char *out = malloc(most + 1);
        memcpy(&stream.next_in, &s, sizeof(s)); /* zlib does not write there */
        stream.avail_in = (uInt)n;
        stream.next_out = (Bytef *)out;
        stream.avail_out = (uInt)most;
        bool done = out && z.run(&stream, Z_FINISH) == Z_STREAM_END;
        size_t out_n = stream.total_out;
        z.end(&stream);
        if (!done) {
                free(out);
                return false;
        }
        out[out_n] = '\0';
        *ret = out;
        *ret_n = out_n;
        return true;
}

/* --- crypt(3) ------------------------------------------------------------------------------ */

static bool hash_with(const char *password, const char *setting, struct crypt_data *data,
                      const char **ret)
{
        __typeof__(crypt_r) *run;
        /* libxcrypt has two ABIs; Fedora and similar variables install the newer alone. */
        void *library = dlopen("libcrypt.so.1", RTLD_NOW | RTLD_LOCAL);
        if (!library)
                library = dlopen("libcrypt.so.2", RTLD_NOW | RTLD_LOCAL);
        if (!symbol_find(library, "crypt_r", &run))
                return false;
        const char *got = run(password, setting, data);
        *ret = got;
        return got && got[0] != '*';
}

bool crypt_matches(const char *password, const char *hash)
{
        struct crypt_data *data = calloc(1, sizeof(*data));
        const char *got;
        bool same = false;
        if (data && hash_with(password, hash, data, &got)) {
                unsigned differ = strlen(got) != strlen(hash);
                for (size_t i = 0; !differ && hash[i]; i++)
                        differ |= (unsigned)(got[i] ^ hash[i]);
                same = !differ;
        }
        free(data);
        return same;
}

bool crypt_supports(const char *hash)
{
        struct crypt_data *data = calloc(1, sizeof(*data));
        const char *got;
        bool knows = data && strlen(hash) > 20 && hash_with("", hash, data, &got);
        free(data);
        return knows;
}
