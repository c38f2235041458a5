/* The texts of a batch, for any caller that keeps it longer than its source does. */
#pragma once

#include "model/reading.h"

/* Bytes of all names and texts. */
size_t batch_text_size(const struct batch *b);
/* Copies a text to *at and moves on. */
const char *batch_text_keep(char **at, const char *text, size_t len);
/* Who, with texts that are kept. */
struct entity_key batch_text_keep_key(char **at, const struct entity_key *who);
