/*
 * What a model server writes at /metrics, turned into a reading in one vocabulary; families.def
 * says which family is which figure. The text is a stranger's: bounded, and nothing in it is
 * believed that is not a number of 0 or more.
 */
#pragma once

#include "model/serving.h"

struct engine_parser;

/* 0 or -ENOMEM. */
int engine_parser_open(struct engine_parser **ret);
void engine_parser_close(struct engine_parser *p);
/* Fills all of ret but its time. The kind is ENGINE_UNKNOWN where no family is known. */
void engine_parse(struct engine_parser *p, const char *text, size_t len,
                  struct serving_reading *ret);
