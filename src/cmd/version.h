/* What this program is. */
#pragma once

#include "base/strbuf.h"

#include <stdbool.h>

/* One line; as JSON also its features, the libraries that are found here, kernel and glibc. */
void version_write(bool json, struct strbuf *out);
