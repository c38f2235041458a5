/* The GPU, its driver, its library, its device files. */
#include "doctor/checks.h"

#include "base/strbuf.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define NVML_NO_PERMISSION 4
#define NVML_DRIVER_NOT_LOADED 9
#define NVML_MISMATCH 18

static const char *plural_s(size_t n)
{
        return n == 1 ? "" : "s";
}

void check_hardware(const struct doctor *d, struct result *ret)
{
        const struct nvml_probe *p = &d->nvml;
        if (p->count > 0)
                result_set(ret, OUTCOME_OK, "%u x %s", p->count, p->gpus[0].name);
        else if (d->n_gpus > 0)
                result_set(ret, OUTCOME_OK, "%zu x %s", d->n_gpus, d->gpus[0].model);
        else if (d->n_pci > 0)
                result_set(ret, OUTCOME_WARN, "%zu NVIDIA device%s on the PCI bus, not in use",
                           d->n_pci, plural_s(d->n_pci));
        else if (d->n_drm > 0)
                result_set(ret, OUTCOME_NOTE, "no NVIDIA GPU");
        else {
                result_set(ret, OUTCOME_FAIL, "no NVIDIA GPU");
                result_remedy(ret, "in a container, start it with '--gpus all'; elsewhere, look at "
                                   "a capture or another machine: see below");
        }
}

/* "NVRM version: NVIDIA UNIX x86_64 Kernel Module  595.71.05  Tue …": the first word that is a
 * version. */
static bool driver_version(const struct doctor *d, char *ret, size_t size)
{
        char text[1024];
        if (!doctor_read(d, "/proc/driver/nvidia/version", text, sizeof(text)))
                return false;
        text[strcspn(text, "\n")] = '\0';
        for (const char *s = text; *s;) {
                size_t len = strcspn(s, " \t");
                size_t digits = strspn(s, "0123456789.");
                if (len >= 5 && digits == len && memchr(s, '.', len)) {
                        snprintf(ret, size, "%.*s", (int)len, s);
                        return true;
                }
                s += len + strspn(s + len, " \t");
        }
        return false;
}

void check_driver(const struct doctor *d, struct result *ret)
{
        char version[64];
        if (!driver_version(d, version, sizeof(version))) {
                bool idle = d->n_pci == 0;
                result_set(ret, idle ? OUTCOME_NOTE : OUTCOME_FAIL, "not loaded");
                if (!idle)
                        result_remedy(ret,
                                      "install NVIDIA's driver, or load it with 'sudo modprobe "
                                      "nvidia'; 'dmesg' says why it failed");
                return;
        }
        result_set(ret, OUTCOME_OK, "%s", version);
        if (d->nvml.init == NVML_MISMATCH) {
                result_set(ret, OUTCOME_FAIL, "%s is loaded, and the library is of another version",
                           version);
                result_remedy(ret, "the driver was updated while in use: reboot, or stop all users "
                                   "of the GPU and reload the module");
        } else if (d->nvml.driver[0] && strcmp(d->nvml.driver, version) != 0) {
                result_set(ret, OUTCOME_WARN, "%s is loaded, the library speaks of %s", version,
                           d->nvml.driver);
                result_remedy(ret, "reboot, so that both are of one version");
        }
}

void check_library(const struct doctor *d, struct result *ret)
{
        const struct nvml_probe *p = &d->nvml;
        if (!p->done && p->loaded) {
                result_set(ret, OUTCOME_FAIL, "%s did not come back within 5 s", p->call);
                result_remedy(ret, "the driver hangs or crashed: 'dmesg | grep -i xid' says more; "
                                   "a reboot helps");
        } else if (!p->loaded && d->source.nvml_lib) {
                result_set(ret, OUTCOME_FAIL, "--nvml-lib: %s", p->problem);
                result_remedy(ret, "give the path of a libnvidia-ml.so.1, or leave it out");
        } else if (!p->loaded) {
                bool idle = d->n_pci == 0 && d->n_gpus == 0;
                result_set(ret, idle ? OUTCOME_NOTE : OUTCOME_FAIL,
                           "libnvidia-ml.so.1 is not installed");
                if (!idle)
                        result_remedy(ret,
                                      "install the driver's user-space part (libnvidia-compute); "
                                      "in a container, set NVIDIA_DRIVER_CAPABILITIES=utility");
        } else if (p->init != NVML_OK) {
                result_set(ret, OUTCOME_FAIL, "it does not start: %s", p->error);
                if (p->init == NVML_DRIVER_NOT_LOADED)
                        result_remedy(ret, "load the driver with 'sudo modprobe nvidia'");
                else if (p->init == NVML_NO_PERMISSION)
                        result_remedy(ret, "see the device files below");
                else
                        result_remedy(ret, "see the driver above");
        } else {
                result_set(ret, OUTCOME_OK, "NVML %s", p->library);
        }
}

void check_devices(const struct doctor *d, struct result *ret)
{
        size_t bad = 0;
        int why = 0, minor = -1;
        for (size_t i = 0; i < d->n_gpus; i++) {
                if (d->gpus[i].open_error == 0)
                        continue;
                if (bad++ == 0) {
                        why = d->gpus[i].open_error;
                        minor = d->gpus[i].minor;
                }
        }
        if (d->n_gpus == 0) {
                result_set(ret, OUTCOME_NOTE, "the driver lists no GPU");
        } else if (bad == 0) {
                result_set(ret, OUTCOME_OK, "all %zu can be opened", d->n_gpus);
        } else {
                result_set(ret, bad == d->n_gpus ? OUTCOME_FAIL : OUTCOME_WARN,
                           "%zu of %zu cannot be opened: /dev/nvidia%d: %s", bad, d->n_gpus, minor,
                           strerror(why));
                if (why == ENOENT)
                        result_remedy(ret,
                                      "make it with 'sudo nvidia-modprobe -u -c=%d', or give the "
                                      "container this device",
                                      minor);
                else if (why == EPERM)
                        result_remedy(ret,
                                      "the job's or container's device cgroup refuses it: ask for "
                                      "this GPU if you need it");
                else
                        result_remedy(ret, "check its permissions and your groups: 'ls -l "
                                           "/dev/nvidia*' and 'id'");
        }
}

void check_gpm(const struct doctor *d, struct result *ret)
{
        const struct nvml_probe *p = &d->nvml;
        unsigned works = 0, supported = 0;
        int why = 0;
        for (unsigned i = 0; i < p->count; i++) {
                supported += p->gpus[i].gpm == 1;
                works += p->gpus[i].gpm == 1 && p->gpus[i].gpm_sample == NVML_OK;
                if (p->gpus[i].gpm == 1 && p->gpus[i].gpm_sample != NVML_OK)
                        why = p->gpus[i].gpm_sample;
        }
        ret->counters = works > 0;
        if (p->count == 0) {
                result_set(ret, OUTCOME_NOTE, "no GPU to ask");
        } else if (works == p->count) {
                result_set(ret, OUTCOME_OK, "works on %u of %u GPU%s", works, p->count,
                           plural_s(p->count));
        } else if (supported > works) {
                result_set(ret, OUTCOME_WARN,
                           "works on %u of %u GPU%s; a sample fails with NVML %d", works, p->count,
                           plural_s(p->count), why);
                result_remedy(ret, "on a GPU cut into MIG slices, counters come per slice; else "
                                   "update the driver");
        } else {
                result_set(ret, OUTCOME_WARN, "works on %u of %u GPU%s", works, p->count,
                           plural_s(p->count));
                result_remedy(ret,
                              "GPM needs Hopper or newer and driver 520 or newer; older GPUs give "
                              "counters through DCGM: --backend dcgm");
        }
}

void check_profiling(const struct doctor *d, struct result *ret)
{
        char text[8192];
        if (!doctor_read(d, "/proc/driver/nvidia/params", text, sizeof(text))) {
                result_set(ret, OUTCOME_NOTE, "the driver does not say who may read counters");
                return;
        }
        if (!strstr(text, "RmProfilingAdminOnly: 1")) {
                result_set(ret, OUTCOME_OK, "counters are open to all users");
                return;
        }
        if (doctor_gpm_works(d))
                result_set(ret, OUTCOME_NOTE,
                           "counters are kept for administrators; NVML's GPM is not concerned");
        else
                result_set(ret, OUTCOME_WARN, "counters are kept for administrators");
        result_remedy(ret,
                      "for DCGM and Nsight as a user: 'options nvidia "
                      "NVreg_RestrictProfilingToAdminUsers=0' in /etc/modprobe.d, then reboot");
}

static bool is_geforce(const char *name)
{
        return strstr(name, "GeForce") || strstr(name, "TITAN");
}

/* Which counters are missing, who may enable them, and how. */
static void advise_on_counters(const struct doctor *d, const char *name, struct result *ret)
{
        char text[8192];
        bool kept = doctor_read(d, "/proc/driver/nvidia/params", text, sizeof(text)) &&
                    strstr(text, "RmProfilingAdminOnly: 1");
        if (is_geforce(name)) {
                result_remedy(ret, "nothing makes them sure here: only profilers (Nsight) read the "
                                   "counters of GeForce GPUs");
                return;
        }
        result_remedy(ret,
                      "SM, tensor and DRAM activity (DCGM's fields 1002, 1004, 1005) make them "
                      "sure: root starts nvidia-hostengine (datacenter-gpu-manager), then anyone "
                      "uses --backend dcgm%s",
                      kept ? "; without root the engine also needs "
                             "NVreg_RestrictProfilingToAdminUsers=0, which root sets"
                           : "");
}

void check_verdicts(const struct doctor *d, struct result *ret)
{
        const struct nvml_probe *p = &d->nvml;
        unsigned without = 0;
        const char *first = "";
        for (unsigned i = p->count; i-- > 0;) {
                bool counts = p->gpus[i].gpm == 1 && p->gpus[i].gpm_sample == NVML_OK;
                without += !counts;
                first = counts ? first : p->gpus[i].name;
        }
        if (p->count == 0 && d->n_drm == 0) {
                result_set(ret, OUTCOME_NOTE, "no GPU to judge");
        } else if (p->count == 0) {
                result_set(ret, OUTCOME_NOTE,
                           "likely: the kernel has the busy share, power and clocks of AMD's and "
                           "Intel's GPUs, and no counters");
        } else if (without == 0) {
                result_set(ret, OUTCOME_OK, "sure: decided from counters");
        } else {
                result_set(
                    ret, OUTCOME_NOTE,
                    "likely on %u of %u GPU%s without DCGM: decided from utilization, memory "
                    "traffic, power and clocks",
                    without, p->count, plural_s(p->count));
                advise_on_counters(d, first, ret);
        }
}

/* "0, 2" for the GPUs whose mode is as asked. Returns how many. */
static size_t list_mode(const struct nvml_probe *p, size_t offset, int mode, char *buf, size_t size)
{
        size_t n = 0, len = 0;
        buf[0] = '\0';
        for (unsigned i = 0; i < p->count; i++) {
                int value;
                memcpy(&value, (const char *)&p->gpus[i] + offset, sizeof(value));
                if (value != mode)
                        continue;
                if (len + 12 < size)
                        len += (size_t)snprintf(buf + len, size - len, "%s%u", n ? ", " : "", i);
                n++;
        }
        return n;
}

void check_mig(const struct doctor *d, struct result *ret)
{
        char list[128];
        size_t on =
            list_mode(&d->nvml, offsetof(struct nvml_probe_gpu, mig), 1, list, sizeof(list));
        if (d->nvml.count == 0)
                result_set(ret, OUTCOME_NOTE, "no GPU to ask");
        else if (on == 0)
                result_set(ret, OUTCOME_OK, "off");
        else
                result_set(ret, OUTCOME_OK,
                           "on for GPU %s: each slice is shown as GPU/instance; gpu_util does not "
                           "exist there",
                           list);
}

void check_persistence(const struct doctor *d, struct result *ret)
{
        char list[128];
        size_t off = list_mode(&d->nvml, offsetof(struct nvml_probe_gpu, persistence), 0, list,
                               sizeof(list));
        if (d->nvml.count == 0) {
                result_set(ret, OUTCOME_NOTE, "no GPU to ask");
        } else if (off == 0) {
                result_set(ret, OUTCOME_OK, "on");
        } else {
                result_set(ret, OUTCOME_WARN,
                           "off for GPU %s: without a user of the GPU each start takes seconds and "
                           "error counts are forgotten",
                           list);
                result_remedy(ret, "sudo nvidia-smi -pm 1, or run nvidia-persistenced");
        }
}
