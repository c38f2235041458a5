/* The thresholds of tags, as the options say. */
#pragma once

#include "compute/summary.h"
#include "config/config.h"

static inline struct tag_thresholds tag_thresholds(const struct config *config)
{
        return (struct tag_thresholds){
            config_number(config, OPT_TAG_CPU), config_number(config, OPT_TAG_MEMORY),
            config_number(config, OPT_TAG_GPU), config_number(config, OPT_TAG_GPU_MEMORY)};
}
