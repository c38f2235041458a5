#include "doctor/doctor.h"

#include "doctor/checks.h"
#include "entity/select.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct check checks[] = {
#define CHECK(id, name, backends, about) {#id, name, backends, about, check_##id},
#include "doctor/checks.def"
#undef CHECK
};

const struct check *check_at(size_t i)
{
        return i < ARRAY_LEN(checks) ? &checks[i] : NULL;
}

/* backends: names with blanks between. */
bool check_is_of(const struct check *c, const char *backend)
{
        size_t n = strlen(backend);
        for (const char *s = c->backends; *s; s += strspn(s, " ")) {
                size_t len = strcspn(s, " ");
                if (len == n && memcmp(s, backend, n) == 0)
                        return true;
                s += len;
        }
        return strcmp(backend, "auto") == 0;
}

const char *outcome_name(enum outcome outcome)
{
        static const char *const names[OUTCOME_COUNT] = {"ok", "note", "warn", "fail"};
        return names[outcome];
}

void result_set(struct result *f, enum outcome outcome, const char *fmt, ...)
{
        va_list ap;
        f->outcome = outcome;
        va_start(ap, fmt);
        vsnprintf(f->says, sizeof(f->says), fmt, ap);
        va_end(ap);
}

void result_remedy(struct result *f, const char *fmt, ...)
{
        va_list ap;
        va_start(ap, fmt);
        vsnprintf(f->remedy, sizeof(f->remedy), fmt, ap);
        va_end(ap);
}

bool doctor_read(const struct doctor *d, const char *path, char *buf, size_t size)
{
        char full[4096];
        snprintf(full, sizeof(full), "%s%s", d->source.root, path);
        CLEANUP(closep) int fd = open(full, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
        ssize_t n = fd < 0 ? -1 : read(fd, buf, size - 1);
        if (n < 0)
                return false;
        buf[n] = '\0';
        return true;
}

bool doctor_no_nvidia(const struct doctor *d)
{
        return d->n_gpus == 0 && d->nvml.count == 0;
}

bool doctor_gpm_works(const struct doctor *d)
{
        for (unsigned i = 0; i < d->nvml.count; i++) {
                if (d->nvml.gpus[i].gpm == 1 && d->nvml.gpus[i].gpm_sample == NVML_OK)
                        return true;
        }
        return false;
}

/* Display controllers (class 03) and accelerators (12) of NVIDIA (vendor 10de). */
static size_t count_pci(const struct doctor *d)
{
        char folder[4096], path[300], text[32];
        size_t n = 0;
        snprintf(folder, sizeof(folder), "%s/sys/bus/pci/devices", d->source.root);
        DIR *dir = opendir(folder);
        for (const struct dirent *e; dir && (e = readdir(dir));) {
                snprintf(path, sizeof(path), "/sys/bus/pci/devices/%.200s/vendor", e->d_name);
                if (!doctor_read(d, path, text, sizeof(text)) || strncmp(text, "0x10de", 6) != 0)
                        continue;
                snprintf(path, sizeof(path), "/sys/bus/pci/devices/%.200s/class", e->d_name);
                n += doctor_read(d, path, text, sizeof(text)) &&
                     (strncmp(text, "0x03", 4) == 0 || strncmp(text, "0x12", 4) == 0);
        }
        if (dir)
                closedir(dir);
        return n;
}

static void find_drm(struct doctor *d)
{
        d->drm = calloc(DRM_GPUS_MAX, sizeof(*d->drm));
        if (!d->drm)
                return;
        drm_find_gpus(d->source.root, d->drm, DRM_GPUS_MAX, &d->n_drm, &d->drm_passed);
        drm_number_gpus(d->source.root, select_by_intel_cards(d->get_env), d->drm, d->n_drm);
}

void doctor_prepare(struct doctor *d)
{
        find_drm(d);
        d->n_pci = count_pci(d);
        d->n_gpus = local_gpus_list(d->source.root, d->gpus, ARRAY_LEN(d->gpus));
        nvml_probe(d->source.nvml_lib, &d->nvml);
}

void doctor_finish(struct doctor *d)
{
        for (size_t i = 0; i < d->n_drm; i++)
                drm_forget_gpu(&d->drm[i]);
        free(d->drm);
        d->drm = NULL;
        d->n_drm = 0;
}
