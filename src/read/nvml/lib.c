#include "read/nvml/lib.h"

#include <dlfcn.h>
#include <string.h>

static void *nvml_find(void *handle, void *(*resolve)(void *handle, const char *name),
                       const char *name, const char *older)
{
        void *f = resolve(handle, name);
        return f || !older[0] ? f : resolve(handle, older);
}

/* POSIX says that a void pointer from dlsym holds a function; ISO C has no cast for it. */
static void set_function(void *member, void *f)
{
        memcpy(member, &f, sizeof(f));
}

int nvml_lib_load(struct nvml_lib *lib, const char *path,
                  void *(*resolve)(void *handle, const char *name), struct err *err)
{
        const char *file = path && path[0] ? path : NVML_LIBRARY;
        *lib = (struct nvml_lib){.handle = dlopen(file, RTLD_NOW | RTLD_LOCAL)};
        if (!lib->handle) {
                err_set(err, ERR_NO_SOURCE, "NVIDIA's library '%s' cannot be loaded", file);
                return err_hint(err, "install the NVIDIA driver; in a container, start it with the "
                                     "NVIDIA runtime (docker run --gpus all)");
        }
#define NVML_SYMBOL(member, shape, name, older)                                                    \
        set_function(&lib->member, nvml_find(lib->handle, resolve, name, older));
#include "read/nvml/symbols.def"
#undef NVML_SYMBOL
        return 0;
}

int nvml_lib_refuse(int rc, struct err *err)
{
        static const struct {
                int rc;
                const char *what, *hint;
        } cases[] = {
            {NVML_DRIVER_NOT_LOADED, "the NVIDIA driver is not loaded",
             "load it with 'modprobe nvidia' as root, and look at 'dmesg' if that fails"},
            {NVML_NO_PERMISSION, "the NVIDIA driver may not be used by this user",
             "allow this user to read and write /dev/nvidiactl and /dev/nvidia0 (often: join the "
             "group 'video')"},
            {NVML_LIB_RM_VERSION_MISMATCH,
             "the NVIDIA library and the loaded kernel driver are of different versions",
             "the driver was updated since it was loaded: reboot, or unload and load its modules; "
             "in a container, use the host's library"},
            {NVML_FUNCTION_NOT_FOUND, "the NVIDIA library has no nvmlInit",
             "--nvml-lib or the library path names something that is not NVML"},
            {NVML_NOT_FOUND, "there is no NVIDIA GPU", "look at 'lspci | grep -i nvidia'"},
            {NVML_GPU_NOT_FOUND, "there is no NVIDIA GPU", "look at 'lspci | grep -i nvidia'"},
            {NVML_TIMEOUT, "the NVIDIA driver does not answer",
             "see whether 'nvidia-smi' hangs too, and look at 'dmesg' for Xid messages"},
        };
        for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
                if (cases[i].rc != rc)
                        continue;
                err_set(err, ERR_NO_SOURCE, "%s", cases[i].what);
                return err_hint(err, "%s", cases[i].hint);
        }
        err_set(err, ERR_NO_SOURCE, "the NVIDIA driver cannot be used (NVML error %d, %s)", rc,
                nvml_rc_name(rc));
        return err_hint(err, "see what 'nvidia-smi' and 'dmesg' say");
}

enum state nvml_state(int rc)
{
        switch (rc) {
        case NVML_SUCCESS:
                return STATE_OK;
        case NVML_NOT_SUPPORTED:
        case NVML_FUNCTION_NOT_FOUND:
        case NVML_VGPU_ECC_NOT_SUPPORTED:
        case NVML_ARGUMENT_VERSION_MISMATCH:
        case NVML_DEPRECATED:
                return STATE_UNSUPPORTED;
        case NVML_NO_PERMISSION:
                return STATE_DENIED;
        case NVML_NO_DATA:
        case NVML_NOT_READY:
                return STATE_BLANK;
        default:
                return STATE_ERROR;
        }
}

bool nvml_is_lost(int rc)
{
        return rc == NVML_GPU_IS_LOST || rc == NVML_RESET_REQUIRED || rc == NVML_GPU_NOT_FOUND;
}

const char *nvml_rc_name(int rc)
{
        switch (rc) {
#define NVML_RC(id, number)                                                                        \
        case number:                                                                               \
                return #id;
                NVML_RCS(NVML_RC)
#undef NVML_RC
        default:
                return "UNKNOWN";
        }
}

double nvml_field_number(const struct nvml_field_value *v)
{
        switch ((enum nvml_value_type)v->type) {
        case NVML_VALUE_DOUBLE:
                return v->value.d;
        case NVML_VALUE_UINT:
                return v->value.u;
        case NVML_VALUE_ULONG:
        case NVML_VALUE_ULONGLONG:
                return (double)v->value.ull;
        case NVML_VALUE_LONGLONG:
                return (double)v->value.ll;
        case NVML_VALUE_INT:
                return v->value.i;
        case NVML_VALUE_USHORT:
                return v->value.us;
        }
        return 0;
}
