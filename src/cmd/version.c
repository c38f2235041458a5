/* assay --version: with --json also what this build can do, and which libraries are here. */
#include "cmd/version.h"

#include "app/setup.h"
#include "base/strbuf.h"
#include "build_features.h"
#include "present/stream/json.h"
#include "session/session.h"

#include <dlfcn.h>
#include <gnu/libc-version.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#define NAMES 3
#define NVML "libnvidia-ml.so.1"

/* Loaded when they are needed, by the name that is found first. */
static const struct {
        const char *what;
        const char *names[NAMES];
} libraries[] = {
    {"nvml", {NVML}},
    {"cuda", {"libcuda.so.1"}},
    {"cublas", {"libcublas.so.13", "libcublas.so.12", "libcublas.so.11"}},
    {"rocm_smi", {"librocm_smi64.so.1", "librocm_smi64.so.7", "librocm_smi64.so"}},
    {"curl", {"libcurl.so.4", "libcurl-gnutls.so.4"}},
    {"terminfo", {"libtinfo.so.6", "libtinfow.so.6", "libncursesw.so.6"}},
    {"archive", {"libarchive.so.13"}},
    {"cairo", {"libcairo.so.2"}},
    {"jpeg", {"libjpeg.so.62", "libjpeg.so.8"}},
    {"microhttpd", {"libmicrohttpd.so.12"}},
    {"gnutls", {"libgnutls.so.30"}},
    {"nghttp2", {"libnghttp2.so.14"}},
    {"zlib", {"libz.so.1"}},
    {"yaml", {"libyaml-0.so.2"}},
    {"crypt", {"libcrypt.so.1", "libcrypt.so.2"}},
};

static const struct {
        const char *name;
        bool on;
} features[] = {
    {"exporters", FEATURE_CURL}, {"zip", FEATURE_ZIP},
    {"png_pdf", FEATURE_CAIRO},  {"jpeg", FEATURE_CAIRO &&FEATURE_JPEG},
    {"serve", FEATURE_SERVE},    {"portable", FEATURE_PORTABLE},
};

static void *load_first(const char *const names[NAMES], const char **ret)
{
        void *handle = NULL;
        for (size_t i = 0; !handle && i < NAMES && names[i]; i++) {
                handle = dlopen(names[i], RTLD_LAZY | RTLD_LOCAL);
                *ret = names[i];
        }
        return handle;
}

static bool is_linked_in(const char *what)
{
        return (FEATURE_MHD_INSIDE && strcmp(what, "microhttpd") == 0) ||
               (FEATURE_PORTABLE && strcmp(what, "terminfo") == 0);
}

/* Each library: the name it was found under, or null. They stay loaded: the program ends. */
static void put_libraries(struct jsonw *j)
{
        jsonw_object(j, "libraries");
        for (size_t i = 0; i < ARRAY_LEN(libraries); i++) {
                const char *name = NULL;
                bool inside = is_linked_in(libraries[i].what);
                bool found = !inside && load_first(libraries[i].names, &name) != NULL;
                jsonw_text_or_null(j, libraries[i].what,
                                   inside  ? "linked in"
                                   : found ? name
                                           : NULL);
        }
        jsonw_end(j);
}

/* Whether the driver's library has GPM; null without it. 'assay doctor' asks the GPUs. */
static void put_gpm(struct jsonw *j)
{
        const char *const names[NAMES] = {NVML};
        const char *name;
        void *handle = load_first(names, &name);
        if (handle)
                jsonw_bool(j, "gpm", dlsym(handle, "nvmlGpmSampleGet") != NULL);
        else
                jsonw_null(j, "gpm");
}

static void put_machine(struct jsonw *j)
{
        struct utsname u;
        if (uname(&u) < 0)
                return;
        jsonw_text(j, "machine", u.machine);
        jsonw_text(j, "kernel", u.release);
        jsonw_text(j, "glibc", gnu_get_libc_version());
}

void version_write(bool json, struct strbuf *out)
{
        struct jsonw j = {.out = out};
        if (!json) {
                strbuf_putf(out, "assay %s\n", program_version);
                return;
        }
        jsonw_object(&j, NULL);
        jsonw_whole(&j, "schema", JSON_SCHEMA_VERSION);
        jsonw_text(&j, "program", "assay");
        jsonw_text(&j, "version", program_version);
        jsonw_whole(&j, "session_schema", SESSION_SCHEMA_VERSION);
        jsonw_text(&j, "library", "libassay.so.0");
        put_machine(&j);
        jsonw_object(&j, "features");
        for (size_t i = 0; i < ARRAY_LEN(features); i++)
                jsonw_bool(&j, features[i].name, features[i].on);
        jsonw_end(&j);
        put_libraries(&j);
        put_gpm(&j);
        jsonw_end(&j);
        strbuf_putc(out, '\n');
}
