/* The ledger of a run, or of a job's runs one after the other. */
#pragma once

#include "model/document.h"
#include "model/goodput.h"

/* Fills a document; document_finish it. */
void goodput_document(const struct goodput_list *l, const char *version, struct document *ret);
