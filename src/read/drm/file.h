/* Small files of sysfs: one value each, whose absence has a reason. */
#pragma once

#include "model/reading.h"

#include <stddef.h>
#include <sys/types.h>

#define DRM_TEXT_MAX 4096 /* sysfs gives at most a page */

/* Opens a folder below another one (AT_FDCWD for none). -1 when there is none. */
int drm_open_folder(int folder, const char *path);
/* The whole file without its last newline, terminated. Its length, or a negative errno. */
ssize_t drm_read_text(int folder, const char *name, char *buf, size_t size);
/* A number in decimal or after "0x", or why there is none. */
struct raw drm_read_number(int folder, const char *name);
/* Likewise, of "key: number" lines such as those of ras/umc_err_count. */
struct raw drm_read_keyed(int folder, const char *name, const char *key);
/* The state of a value whose file gave this negative errno. */
enum state drm_state_of(int error);

static inline struct raw drm_raw(double v)
{
        return (struct raw){.num = v, .state = STATE_OK};
}

static inline struct raw drm_missing(enum state state)
{
        return (struct raw){.state = (uint8_t)state};
}
