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
    {"archive", {"libarchive.so.13"}},
    {"cairo", {"libcairo.so.2"}},
    {"jpeg", {"libjpeg.so.62", "libjpeg.so.8"}},
    {"microhttpd", {"libmicrohttpd.so.12"}},
    {"nghttp2", {"libnghttp2.so.14"}},
    {"zlib", {"libz.so.1"}},
    {"yaml", {"libyaml-0.so.2"}},
    {"crypt", {"libcrypt.so.1"}},
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

/* Each library: the name it was found under, or null. They stay loaded: the program ends. */
static void put_libraries(struct strbuf *out)
{
        strbuf_puts(out, "\"libraries\":{");
        for (size_t i = 0; i < ARRAY_LEN(libraries); i++) {
                const char *name = NULL;
                void *handle = load_first(libraries[i].names, &name);
                strbuf_putf(out, handle ? "%s\"%s\":\"%s\"" : "%s\"%s\":null", i ? "," : "",
                            libraries[i].what, name);
        }
        strbuf_puts(out, "},");
}

/* Whether the driver's library has GPM; null without it. 'assay doctor' asks the GPUs. */
static const char *gpm_offered(void)
{
        const char *const names[NAMES] = {NVML};
        const char *name;
        void *handle = load_first(names, &name);
        if (!handle)
                return "null";
        return dlsym(handle, "nvmlGpmSampleGet") ? "true" : "false";
}

static void put_machine(struct strbuf *out)
{
        struct utsname u;
        if (uname(&u) < 0)
                return;
        strbuf_puts(out, "\"machine\":");
        json_put_string(out, u.machine);
        strbuf_puts(out, ",\"kernel\":");
        json_put_string(out, u.release);
        strbuf_puts(out, ",\"glibc\":");
        json_put_string(out, gnu_get_libc_version());
        strbuf_putc(out, ',');
}

void version_write(bool json, struct strbuf *out)
{
        if (!json) {
                strbuf_putf(out, "assay %s\n", program_version);
                return;
        }
        strbuf_putf(out, "{\"schema\":%d,\"program\":\"assay\",\"version\":\"%s\",",
                    JSON_SCHEMA_VERSION, program_version);
        strbuf_putf(out, "\"session_schema\":%d,\"library\":\"libassay.so.0\",",
                    SESSION_SCHEMA_VERSION);
        put_machine(out);
        strbuf_puts(out, "\"features\":{");
        for (size_t i = 0; i < ARRAY_LEN(features); i++)
                strbuf_putf(out, "%s\"%s\":%s", i ? "," : "", features[i].name,
                            features[i].on ? "true" : "false");
        strbuf_puts(out, "},");
        put_libraries(out);
        strbuf_putf(out, "\"gpm\":%s}\n", gpm_offered());
}
