/* A libnvidia-ml.so.1 with the few calls `assay doctor` makes. FAKE_NVML holds words: "init=18",
 * "hang=nvmlDeviceGetName", "crash=nvmlDeviceGetCount_v2", "gpus=2", "driver=550.1", "no-gpm",
 * "name=A30", "sample=4", "mig", "no-persistence". */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *setting(const char *name)
{
        static char value[64];
        const char *all = getenv("FAKE_NVML");
        const char *at = all ? strstr(all, name) : NULL;
        if (!at)
                return NULL;
        at += strlen(name);
        snprintf(value, sizeof(value), "%.*s", (int)strcspn(at, " "), at);
        return value;
}

static void maybe(const char *call)
{
        const char *hang = setting("hang=");
        if (hang && strcmp(hang, call) == 0)
                for (;;)
                        pause();
        const char *crash = setting("crash=");
        if (crash && strcmp(crash, call) == 0)
                abort();
}

static int number(const char *name, int otherwise)
{
        const char *text = setting(name);
        return text ? atoi(text) : otherwise;
}

int nvmlInit_v2(void)
{
        maybe("nvmlInit_v2");
        return number("init=", 0);
}

const char *nvmlErrorString(int code)
{
        return code == 18 ? "Driver/library version mismatch" : "Driver Not Loaded";
}

int nvmlSystemGetDriverVersion(char *buf, unsigned size)
{
        const char *driver = setting("driver=");
        snprintf(buf, size, "%s", driver ? driver : "570.124.06");
        return 0;
}

int nvmlSystemGetNVMLVersion(char *buf, unsigned size)
{
        snprintf(buf, size, "12.570.124.06");
        return 0;
}

int nvmlDeviceGetCount_v2(unsigned *ret)
{
        maybe("nvmlDeviceGetCount_v2");
        *ret = (unsigned)number("gpus=", 1);
        return 0;
}

static int devices[8];

int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **ret)
{
        *ret = &devices[index % 8];
        return 0;
}

int nvmlDeviceGetName(void *device, char *buf, unsigned size)
{
        (void)device;
        maybe("nvmlDeviceGetName");
        const char *name = setting("name=");
        snprintf(buf, size, "NVIDIA %s", name ? name : "H200");
        return 0;
}

int nvmlDeviceGetUUID(void *device, char *buf, unsigned size)
{
        snprintf(buf, size, "GPU-%08x-1111", (unsigned)((int *)device - devices));
        return 0;
}

int nvmlGpmQueryDeviceSupport(void *device, unsigned support[2])
{
        (void)device;
        support[1] = setting("no-gpm") == NULL;
        return support[0] == 1 ? 0 : 2;
}

int nvmlGpmSampleAlloc(void **ret)
{
        *ret = devices;
        return 0;
}

int nvmlGpmSampleGet(void *device, void *sample)
{
        (void)device;
        (void)sample;
        return number("sample=", 0);
}

int nvmlGpmSampleFree(void *sample)
{
        (void)sample;
        return 0;
}

int nvmlDeviceGetMigMode(void *device, unsigned *mode, unsigned *pending)
{
        (void)device;
        *mode = *pending = setting("mig") != NULL;
        return 0;
}

int nvmlDeviceGetPersistenceMode(void *device, int *mode)
{
        (void)device;
        *mode = setting("no-persistence") == NULL;
        return 0;
}
