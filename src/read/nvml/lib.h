/* NVIDIA's management library, loaded at run time. Every function of it may be missing. */
#pragma once

#include "base/err.h"
#include "model/value.h"
#include "read/nvml/abi.h"

/* The arguments of a function, by shape. All of them return an enum nvml_rc. */
#define NVML_ARGS_VOID (void)
#define NVML_ARGS_SYSTEM_TEXT (char *ret, unsigned size)
#define NVML_ARGS_SYSTEM_U32 (unsigned *ret)
#define NVML_ARGS_BY_INDEX (unsigned index, nvml_device *ret)
#define NVML_ARGS_BY_TEXT (const char *text, nvml_device *ret)
#define NVML_ARGS_TEXT (nvml_device dev, char *ret, unsigned size)
#define NVML_ARGS_U32 (nvml_device dev, unsigned *ret)
#define NVML_ARGS_U64 (nvml_device dev, uint64_t * ret)
#define NVML_ARGS_ARG_U32 (nvml_device dev, int kind, unsigned *ret)
#define NVML_ARGS_U32_U32 (nvml_device dev, unsigned *ret, unsigned *ret_second)
#define NVML_ARGS_PCI (nvml_device dev, struct nvml_pci * ret)
#define NVML_ARGS_UTILIZATION (nvml_device dev, struct nvml_utilization * ret)
#define NVML_ARGS_MEMORY (nvml_device dev, struct nvml_memory * ret)
#define NVML_ARGS_MEMORY_V2 (nvml_device dev, struct nvml_memory_v2 * ret)
#define NVML_ARGS_BAR1 (nvml_device dev, struct nvml_bar1 * ret)
#define NVML_ARGS_ECC (nvml_device dev, int kind, int counter, uint64_t *ret)
#define NVML_ARGS_REMAPPED                                                                         \
        (nvml_device dev, unsigned *ret_corrected, unsigned *ret_uncorrected,                      \
         unsigned *ret_pending, unsigned *ret_failed)
#define NVML_ARGS_RETIRED (nvml_device dev, int cause, unsigned *count, uint64_t *ret)
#define NVML_ARGS_FIELDS (nvml_device dev, int n, struct nvml_field_value *values)
#define NVML_ARGS_PROCESSES (nvml_device dev, unsigned *count, struct nvml_process_info *ret)
#define NVML_ARGS_PROCESS_SAMPLES                                                                  \
        (nvml_device dev, struct nvml_process_sample * ret, unsigned *count, uint64_t since_us)
#define NVML_ARGS_PROCESS_SHARES (nvml_device dev, struct nvml_process_shares * ask)
#define NVML_ARGS_MIG_BY_INDEX (nvml_device dev, unsigned index, nvml_device *ret)
#define NVML_ARGS_GPM_SUPPORT (nvml_device dev, struct nvml_gpm_support * ret)
#define NVML_ARGS_GPM_ALLOC (nvml_gpm_sample * ret)
#define NVML_ARGS_GPM_FREE (nvml_gpm_sample sample)
#define NVML_ARGS_GPM_SAMPLE (nvml_device dev, nvml_gpm_sample sample)
#define NVML_ARGS_GPM_MIG_SAMPLE (nvml_device dev, unsigned gi, nvml_gpm_sample sample)
#define NVML_ARGS_GPM_METRICS (struct nvml_gpm_metrics * get)
#define NVML_ARGS_EVENT_CREATE (nvml_event_set * ret)
#define NVML_ARGS_EVENT_FREE (nvml_event_set set)
#define NVML_ARGS_EVENT_REGISTER (nvml_device dev, uint64_t types, nvml_event_set set)
#define NVML_ARGS_EVENT_WAIT (nvml_event_set set, struct nvml_event * ret, unsigned timeout_ms)

struct nvml_lib {
        void *handle;
#define NVML_SYMBOL(member, shape, name, older) int(*member) NVML_ARGS_##shape;
#include "read/nvml/symbols.def"
#undef NVML_SYMBOL
};

/* Calls a function of the library, or says that the library has none. */
#define NVML_CALL(lib, member, ...)                                                                \
        ((lib)->member ? (lib)->member(__VA_ARGS__) : NVML_FUNCTION_NOT_FOUND)

#define NVML_LIBRARY "libnvidia-ml.so.1"

/*
 * Loads the library at path, or NVIDIA's own when path is NULL. resolve finds a function by name
 * and is dlsym but in tests. 0, or ERR_NO_SOURCE with err.
 */
int nvml_lib_load(struct nvml_lib *lib, const char *path,
                  void *(*resolve)(void *handle, const char *name), struct err *err);

/* Why nvmlInit failed, and what to do. Returns ERR_NO_SOURCE. */
int nvml_lib_refuse(int rc, struct err *err);

/* What a return code means for the value that was asked for. */
enum state nvml_state(int rc);
/* The GPU itself is gone, not only this value. */
bool nvml_is_lost(int rc);
/* "GPU_IS_LOST" and so on; "UNKNOWN" for numbers without a name. */
const char *nvml_rc_name(int rc);
/* The number a field value holds, whatever its type. */
double nvml_field_number(const struct nvml_field_value *v);
