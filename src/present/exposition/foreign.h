/* Names of other exporters, beside ours: for dashboards and alerts that are there. */
#pragma once

#include "present/exposition/text.h"

/* Reads "rocm,all-smi,node" into bits. 0, or ERR_USAGE with err. */
int foreign_parse(const char *list, unsigned *ret, struct err *err);
/* Everything in the sets that t->o->also names. */
void foreign_put_all(struct text *t);
