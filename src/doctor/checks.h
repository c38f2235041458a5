/* The checks of checks.def. */
#pragma once

#include "doctor/doctor.h"

#define CHECK(id, name, backends, about)                                                           \
        void check_##id(const struct doctor *d, struct result *ret);
#include "doctor/checks.def"
#undef CHECK
