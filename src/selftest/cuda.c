#include "selftest/cuda.h"

#include "base/symbol.h"

#include <dlfcn.h>
#include <glob.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int cuda_refuse(struct err *err, const char *what, const char *why)
{
        return err_set(err, ERR_NO_SOURCE, "cannot load %s: %s", what, why);
}

int cuda_load(const char *library, struct cuda_api *ret, struct err *err)
{
        struct cuda_api api;
        void *handle = dlopen(library ? library : "libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
        if (!handle) {
                cuda_refuse(err, "CUDA's driver library", dlerror());
                return err_hint(err, "a self-test needs an NVIDIA GPU and its driver");
        }
#define CUDA_FUNCTION(name, symbol, parameters)                                                    \
        if (!symbol_find(handle, symbol, &api.name))                                               \
                return cuda_refuse(err, "CUDA's driver library", "it has no " symbol);
        CUDA_FUNCTIONS(CUDA_FUNCTION)
#undef CUDA_FUNCTION
        int code = api.init(0);
        if (code != 0) {
                const char *words = NULL;
                (void)api.words(code, &words);
                return cuda_refuse(err, "CUDA's driver library",
                                   words ? words : "it does not start");
        }
        *ret = api;
        return 0;
}

/* The first file of a pattern that loads. */
static void *load_first(const char *pattern)
{
        glob_t found;
        void *handle = NULL;
        if (glob(pattern, GLOB_NOSORT, NULL, &found) != 0)
                return NULL;
        for (size_t i = 0; !handle && i < found.gl_pathc; i++)
                handle = dlopen(found.gl_pathv[i], RTLD_NOW | RTLD_GLOBAL);
        globfree(&found);
        return handle;
}

/* cuBLAS itself needs cuBLASLt, which is next to it. */
static void *load_from(const char *folder)
{
        char pattern[1024];
        if (snprintf(pattern, sizeof(pattern), "%s/libcublasLt.so.1?", folder) <
            (int)sizeof(pattern))
                (void)load_first(pattern);
        if (snprintf(pattern, sizeof(pattern), "%s/libcublas.so.1?", folder) >=
            (int)sizeof(pattern))
                return NULL;
        return load_first(pattern);
}

/* The packages of the python3 that would run: PyTorch brings a BLAS along. */
static void *load_from_python(const char *path)
{
        char folder[1024], python[1024];
        void *handle = NULL;
        while (path && *path && !handle) {
                size_t n = strcspn(path, ":");
                bool fits = snprintf(python, sizeof(python), "%.*s/python3", (int)n, path) <
                            (int)sizeof(python);
                if (n > 0 && fits && access(python, X_OK) == 0) {
                        if (snprintf(folder, sizeof(folder),
                                     "%.*s/../lib/python3*/site-packages/nvidia/*/lib", (int)n,
                                     path) < (int)sizeof(folder))
                                handle = load_from(folder);
                }
                path += n + (path[n] == ':');
        }
        return handle;
}

int blas_load(const char *library, const char *path, struct blas_api *ret, struct err *err)
{
        static const char *const names[] = {"libcublas.so.13", "libcublas.so.12",
                                            "libcublas.so.11"};
        struct blas_api api;
        void *handle = library ? dlopen(library, RTLD_NOW | RTLD_LOCAL) : NULL;
        for (size_t i = 0; !handle && !library && i < ARRAY_LEN(names); i++)
                handle = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
        if (!handle && !library)
                handle = load_from("/usr/local/cuda/lib64");
        if (!handle && !library)
                handle = load_from_python(path);
        if (!handle)
                return cuda_refuse(err, "cuBLAS", library ? dlerror() : "it was not found");
#define BLAS_FUNCTION(name, symbol, parameters)                                                    \
        if (!symbol_find(handle, symbol, &api.name))                                               \
                return cuda_refuse(err, "cuBLAS", "it has no " symbol);
        BLAS_FUNCTIONS(BLAS_FUNCTION)
#undef BLAS_FUNCTION
        *ret = api;
        return 0;
}
