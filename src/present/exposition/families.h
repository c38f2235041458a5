/* The tables behind the text: rows of dcgm.def and own.def. */
#pragma once

#include "present/exposition/exposition.h"

/* Of dcgm-exporter itself, not of DCGM: how many XIDs there were in the last minutes. */
#define DCGM_XID_WINDOW "DCGM_EXP_XID_ERRORS_COUNT"

enum family_form { FORM_INT, FORM_REAL };

struct dcgm_family {
        const char *name[DCGM_DIALECTS]; /* "" where the dialect has none */
        enum metric metric;
        enum family_type type;
        enum family_form form[DCGM_DIALECTS];
        double factor[DCGM_DIALECTS];
        bool asked; /* shown only when a collectors file names it */
        const char *help[DCGM_DIALECTS];
};

enum own_kind { OWN_KIND_FAMILY, OWN_KIND_INTEGRAL, OWN_KIND_GAUGE };

/* A family, or a series of the family before it. */
struct own_row {
        enum own_kind kind;
        const char *name; /* of a family; else the label, "" for none */
        const char *text; /* help of a family; else the label's value */
        enum family_type type;
        unsigned what; /* enum integral or enum metric */
        unsigned decimals;
};

/* NULL at the end. */
const struct dcgm_family *dcgm_family_at(size_t i);
const struct own_row *own_row_at(size_t i);
