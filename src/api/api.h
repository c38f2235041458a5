/* What the files of the public interface share. */
#pragma once

#include "assay/assay.h"
#include "base/err.h"
#include "config/config.h"
#include "model/value.h"

#include <stdbool.h>

struct assay_options {
        struct config config;
        bool careless;   /* durable=no */
        char *hw_folder; /* hardware-monitor; NULL for none */
};

/* Both may be NULL. Returns the code. */
int api_error(struct assay_error *to, const struct err *from);
/* The same for a failure that is reported here. */
int api_fail(struct assay_error *to, int code, const char *msg, const char *hint);
/* The same for a file that was named, or NULL: it is present or not, whole or not; that it is not a
 * source reports nobody anything. */
int api_file_error(const char *path, const struct err *from, struct assay_error *to);
struct assay_value api_value(struct value v);
/* From the root, so that a program may change its folder; free it. NULL when memory is short. */
char *api_absolute(const char *path);
/* The settings of options that may be NULL. */
const struct config *api_config(const assay_options *options);
/* 0 or -ENOMEM; call api_options_finish(ret) either way. */
int api_options_copy(const assay_options *options, struct assay_options *ret);
void api_options_finish(struct assay_options *options);
