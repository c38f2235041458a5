/* The ledger of recorded runs, as a document. */
#pragma once

#include "base/strbuf.h"
#include "config/config.h"

/*
 * Reads sessions, in any order, and writes where their time went. 0 or a negative code with err;
 * notices: a line each, of files that were left out.
 */
int goodput_report(const struct config *config, const char *const *paths, size_t n,
                   const char *format, size_t columns, struct strbuf *notices, struct strbuf *out,
                   struct err *err);
