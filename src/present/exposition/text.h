/* The letters of the text, and what the lines of a GPU begin with. */
#pragma once

#include "present/exposition/families.h"

/* What all lines of one GPU begin with, made once a text. */
struct labels {
        struct strbuf dcgm[DCGM_DIALECTS]; /* empty when the GPU has no place in their vocabulary */
        struct strbuf own;
};

struct text {
        const struct exposition_options *o;
        const struct exposition_input *in;
        bool openmetrics;
        struct strbuf *out;
        struct labels *labels; /* beside in->gpus */
};

/* A label's value: hostile text stays inside its quotes. */
void text_put_escaped(struct strbuf *out, const char *s);
/* Adds a label after those present. */
void text_put_label(struct strbuf *out, const char *name, const char *value);
/* The same, unless the value is empty. */
void text_put_label_if(struct strbuf *out, const char *name, const char *value);
void text_put_label_number(struct strbuf *out, const char *name, int32_t n);
void text_put_decimal(struct strbuf *out, double v, unsigned decimals);
/* "gauge", "counter". */
const char *family_type_name(enum family_type type);
/* HELP and TYPE. */
void text_put_head(struct text *t, const char *name, const char *suffix, const char *type,
                   const char *help);
/* The GPU of a slice, or the entity itself. */
const struct entity *text_parent_of(const struct exposition_input *in, const struct entity *e);
/* The device's text, or its parent's: a slice is reported only what is its own. */
const char *text_of_device(const struct entity *e, const struct entity *parent, enum entity_text t);

/* Our own families; labels.own is made. */
void own_make_labels(const struct text *t, const struct entity *e, struct strbuf *out);
void own_put_all(struct text *t);
