/* Stands in for librocm_smi64; README.md says what it answers. */
#include "base/clock.h"
#include "read/drm/rocm_abi.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))
#define DEVICES 16
#define EVENTS 16

static struct device {
        uint64_t place;
        char compute[32], memory[32];
        bool groups[EVENTS], hang;
        double rates[EVENTS], share;
        int status;
} devices[DEVICES];
static uint32_t count;
static int init_status;
static bool init_hangs;
static char log_path[512];
static int64_t start_ns;

/* The prototypes are the ones that the program calls through. */
#define RSMI(member, name, arguments) EXPORT int rsmi_##member arguments __asm__(name);
RSMI_FUNCTIONS(RSMI)
#undef RSMI

static void note(const char *call)
{
        FILE *f = log_path[0] ? fopen(log_path, "a") : NULL;
        if (!f)
                return;
        fprintf(f, "%s\n", call);
        fclose(f);
}

static void hang(void)
{
        for (;;)
                pause();
}

static void take_line(const char *line)
{
        unsigned domain, bus, dev, fn, event;
        double rate;
        struct device *d = &devices[count ? count - 1 : 0];
        if (sscanf(line, "device %x:%x:%x.%x", &domain, &bus, &dev, &fn) == 4 && count < DEVICES)
                devices[count++] = (struct device){
                    .place = (uint64_t)domain << 32 | bus << 8 | dev << 3 | fn, .share = 1};
        else if (sscanf(line, "link %u %lf", &event, &rate) == 2 && event < EVENTS)
                d->rates[event] = rate;
        else if (sscanf(line, "group %u", &event) == 1 && event < EVENTS)
                d->groups[event] = true;
        else if (strcmp(line, "init hang") == 0)
                init_hangs = true;
        else if (strcmp(line, "hang") == 0)
                d->hang = true;
        else if (sscanf(line, "log %511s", log_path) != 1 &&
                 sscanf(line, "init %d", &init_status) != 1 &&
                 sscanf(line, "compute %31s", d->compute) != 1 &&
                 sscanf(line, "memory %31s", d->memory) != 1 &&
                 sscanf(line, "status %d", &d->status) != 1)
                sscanf(line, "share %lf", &d->share);
}

int rsmi_init(uint64_t flags)
{
        char line[600];
        FILE *f = fopen(getenv("FAKE_ROCM"), "r");
        count = 0;
        while (f && fgets(line, sizeof(line), f)) {
                line[strcspn(line, "\n")] = '\0';
                take_line(line);
        }
        if (f)
                fclose(f);
        start_ns = clock_mono_ns();
        note("init");
        if (init_hangs)
                hang();
        return flags == 0 ? init_status : RSMI_INVALID_ARGS;
}

int rsmi_shut_down(void)
{
        note("shut_down");
        return RSMI_SUCCESS;
}

int rsmi_count(uint32_t *ret)
{
        *ret = count;
        return RSMI_SUCCESS;
}

int rsmi_pci(uint32_t device, uint64_t *ret)
{
        if (device >= count)
                return RSMI_INVALID_ARGS;
        *ret = devices[device].place;
        return RSMI_SUCCESS;
}

static int give_text(uint32_t device, const char *text, char *ret, uint32_t size)
{
        if (device >= count || !text[0])
                return RSMI_NOT_SUPPORTED;
        snprintf(ret, size, "%s", text);
        return RSMI_SUCCESS;
}

int rsmi_compute_partition(uint32_t device, char *ret, uint32_t size)
{
        note("compute_partition");
        return give_text(device, devices[device % DEVICES].compute, ret, size);
}

int rsmi_memory_partition(uint32_t device, char *ret, uint32_t size)
{
        return give_text(device, devices[device % DEVICES].memory, ret, size);
}

int rsmi_group_supported(uint32_t device, uint32_t group)
{
        return device < count && group < EVENTS && devices[device].groups[group]
                   ? RSMI_SUCCESS
                   : RSMI_NOT_SUPPORTED;
}

int rsmi_counter_create(uint32_t device, uint32_t event, rsmi_counter *ret)
{
        note("counter_create");
        if (device >= count || event >= EVENTS)
                return RSMI_INVALID_ARGS;
        if (devices[device].status != 0)
                return devices[device].status;
        if (devices[device].rates[event] == 0)
                return RSMI_NOT_SUPPORTED;
        *ret = device * EVENTS + event + 1;
        return RSMI_SUCCESS;
}

int rsmi_counter_destroy(rsmi_counter counter)
{
        note("counter_destroy");
        return counter ? RSMI_SUCCESS : RSMI_INVALID_ARGS;
}

int rsmi_counter_control(rsmi_counter counter, uint32_t command, void *unused)
{
        return counter && command == RSMI_COUNTER_START && !unused ? RSMI_SUCCESS
                                                                   : RSMI_INVALID_ARGS;
}

int rsmi_counter_read(rsmi_counter counter, struct rsmi_counter_value *ret)
{
        const struct device *d = &devices[(counter - 1) / EVENTS];
        int64_t ns = clock_mono_ns() - start_ns;
        note("counter_read");
        if (d->hang)
                hang();
        ret->time_enabled = (uint64_t)ns;
        ret->time_running = (uint64_t)((double)ns * d->share);
        ret->value = (uint64_t)(d->rates[(counter - 1) % EVENTS] * d->share * clock_to_seconds(ns));
        return RSMI_SUCCESS;
}
