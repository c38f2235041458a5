/* The host as text, fit for a terminal and for a mail: the machine in four lines, then the levels.
 */
#pragma once

#include "base/strbuf.h"
#include "model/host.h"

void host_table_write(const struct host *h, unsigned width, struct strbuf *out);
