/* What the tests of the nvml source share: the fake library, and scenarios written on the spot. */
#pragma once

#include "test.h"

#include "base/attr.h"
#include "base/clock.h"
#include "fakes/nvml/fake.h"
#include "read/nvml/device.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

struct fake {
        void *handle;
        fake_nvml_set_clock_fn *set_clock;
        fake_nvml_load_fn *load;
        fake_nvml_count_fn *samples, *calls;
        char path[64]; /* of the scenario */
};

static inline const char *fake_lib(void)
{
        return getenv("FAKE_NVML_LIB");
}

static inline void fake_symbol(void *handle, const char *name, void *ret)
{
        void *f = dlsym(handle, name);
        assert_non_null(f);
        memcpy(ret, &f, sizeof(f));
}

/* Writes a scenario, the H200's recorded answers where it says so, and loads it. */
static inline void fake_scenario(struct fake *f, bool recorded, const char *text)
{
        char line[8192], path[4096];
        FILE *to = fopen(f->path, "w");
        assert_non_null(to);
        snprintf(path, sizeof(path), "%s/nvml/h200-bf16.scn", getenv("FIXTURES"));
        FILE *from = recorded ? fopen(path, "r") : NULL;
        while (from && fgets(line, sizeof(line), from))
                fputs(line, to);
        if (from)
                fclose(from);
        fputs(text, to);
        fclose(to);
        setenv("FAKE_NVML", f->path, 1);
        f->load(f->path);
}

static inline void fake_open(struct fake *f)
{
        *f = (struct fake){.handle = dlopen(fake_lib(), RTLD_NOW)};
        assert_non_null(f->handle);
        strcpy(f->path, "/tmp/assay-nvml-XXXXXX");
        int fd = mkstemp(f->path);
        assert_true(fd >= 0);
        close(fd);
        setenv("FAKE_NVML", f->path, 1);
        fake_symbol(f->handle, "fake_nvml_set_clock", &f->set_clock);
        fake_symbol(f->handle, "fake_nvml_load", &f->load);
        fake_symbol(f->handle, "fake_nvml_samples", &f->samples);
        fake_symbol(f->handle, "fake_nvml_calls", &f->calls);
}

static inline void fake_close(struct fake *f)
{
        unlink(f->path);
}
