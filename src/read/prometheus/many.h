#pragma once

#include "read/source.h"

/* Many exporters as one fleet: the location is a list of addresses. Nobody names it as a backend.
 */
extern const struct source_ops source_many;
