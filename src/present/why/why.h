/* The page of 'assay why', as a document. */
#pragma once

#include "model/document.h"
#include "model/why.h"

#define WHY_SCHEMA_VERSION 1

/* Finish it in any case; ret->failed when memory was short. */
void why_document(const struct why *w, const char *version, struct document *ret);
