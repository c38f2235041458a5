/* A recorded session as a source; chosen instead of a replay when the file or folder is one. */
#pragma once

#include "read/source.h"

extern const struct source_ops source_session;
