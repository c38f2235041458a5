#include "present/exposition/families.h"

#include "base/csvtext.h"
#include "base/text.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#define SHOWN_DEFAULT false
#define SHOWN_ASKED true

static const struct dcgm_family dcgm[] = {
#define DCGM_FAMILY(classic, new, metric, type, cform, cfactor, nform, nfactor, shown, chelp,      \
                    nhelp)                                                                         \
        {{classic, new},     METRIC_##metric, FAMILY_##type, {FORM_##cform, FORM_##nform},         \
         {cfactor, nfactor}, SHOWN_##shown,   {chelp, nhelp}},
#include "present/exposition/dcgm.def"
#undef DCGM_FAMILY
};

static const struct own_row own[] = {
#define OWN_FAMILY(name, type, help) {OWN_KIND_FAMILY, name, help, FAMILY_##type, 0, 0},
#define OWN_INTEGRAL(id, decimals, label, value)                                                   \
        {OWN_KIND_INTEGRAL, label, value, FAMILY_COUNTER, INTEGRAL_##id, decimals},
#define OWN_GAUGE(id, decimals, label, value)                                                      \
        {OWN_KIND_GAUGE, label, value, FAMILY_GAUGE, METRIC_##id, decimals},
#include "present/exposition/own.def"
#undef OWN_FAMILY
#undef OWN_INTEGRAL
#undef OWN_GAUGE
};

const struct dcgm_family *dcgm_family_at(size_t i)
{
        return i < ARRAY_LEN(dcgm) ? &dcgm[i] : NULL;
}

const struct own_row *own_row_at(size_t i)
{
        return i < ARRAY_LEN(own) ? &own[i] : NULL;
}

static bool is_chosen(const struct exposition_options *o, const char *name)
{
        for (size_t i = 0; i < o->n_chosen; i++) {
                const struct chosen_family *c = &o->chosen[i];
                if (strcmp(dcgm[c->at].name[c->dialect], name) == 0)
                        return true;
        }
        return false;
}

/* A name that both dialects have is written once. */
static void choose_family(struct exposition_options *o, size_t at, enum exposition_dialect dialect,
                          enum family_type type, const char *help)
{
        if (o->n_chosen == EXPOSITION_CHOSEN_MAX || dcgm[at].name[dialect][0] == '\0' ||
            is_chosen(o, dcgm[at].name[dialect]))
                return;
        struct chosen_family *c = &o->chosen[o->n_chosen++];
        *c = (struct chosen_family){.at = (uint16_t)at, .dialect = dialect, .type = type};
        snprintf(c->help, sizeof(c->help), "%s", help && help[0] ? help : dcgm[at].help[dialect]);
        text_clean(c->help);
}

void exposition_choose_default(struct exposition_options *o, unsigned dialects)
{
        o->n_chosen = 0;
        for (enum exposition_dialect d = 0; d < DCGM_DIALECTS; d++) {
                for (size_t i = 0; i < ARRAY_LEN(dcgm); i++) {
                        if ((dialects & (1u << d)) && !dcgm[i].asked)
                                choose_family(o, i, d, dcgm[i].type, NULL);
                }
        }
}

/* --- dcgm-exporter's collectors file ------------------------------------------------------- */

/*
 * A field named in one dialect means the same in the other. Its type is theirs, except for the rate
 * that they call a counter.
 */
static bool choose_named(struct exposition_options *o, unsigned dialects, const char *name,
                         enum family_type type, const char *help)
{
        bool known = strcmp(name, DCGM_XID_WINDOW) == 0;
        o->xid_window |= known;
        for (size_t i = 0; i < ARRAY_LEN(dcgm); i++) {
                bool classic = strcmp(dcgm[i].name[DCGM_CLASSIC], name) == 0;
                if (!classic && strcmp(dcgm[i].name[DCGM_NEW], name) != 0)
                        continue;
                known = true;
                type = dcgm[i].type == FAMILY_GAUGE ? FAMILY_GAUGE : type;
                if (dialects & (1u << DCGM_CLASSIC))
                        choose_family(o, i, DCGM_CLASSIC, type, classic ? help : NULL);
                if (dialects & (1u << DCGM_NEW))
                        choose_family(o, i, DCGM_NEW, type, classic ? NULL : help);
                break;
        }
        return known;
}

/* dcgm-exporter takes labels from rows of this type. */
static bool is_label(const char *type)
{
        return strcasecmp(type, "label") == 0;
}

/* Labels of the board, and the driver's version, which is a label anyhow. */
static void choose_label(struct exposition_options *o, const char *name, struct strbuf *notices)
{
        const struct {
                const char *names[DCGM_DIALECTS];
                bool *chosen; /* NULL: always */
        } labels[] = {
            {{"DCGM_FI_DEV_SERIAL", "DCGM_FI_DEV_BOARD_SERIAL"}, &o->serial_label},
            {{"DCGM_FI_DEV_VBIOS_VERSION", "DCGM_FI_DEV_VBIOS_VERSION"}, &o->vbios_label},
            {{"DCGM_FI_DRIVER_VERSION", "DCGM_FI_SYSTEM_DRIVER_VERSION"}, NULL},
        };
        for (size_t i = 0; i < ARRAY_LEN(labels); i++) {
                for (enum exposition_dialect d = 0; d < DCGM_DIALECTS; d++) {
                        if (strcmp(name, labels[i].names[d]) != 0)
                                continue;
                        if (labels[i].chosen)
                                *labels[i].chosen = true;
                        return;
                }
        }
        strbuf_putf(notices, "collectors: there is no label '%.80s', ignoring\n", name);
}

static int read_row(struct exposition_options *o, unsigned dialects, const struct csvtext *row,
                    struct strbuf *notices, struct err *err)
{
        char *name = text_trim(row->fields[0]);
        if (row->n < 3) {
                err_set(err, ERR_DATA, "collectors: '%.60s' has %zu fields, not three", name,
                        row->n);
                return err_hint(err, "write rows as 'DCGM_FI_DEV_GPU_TEMP, gauge, help text'");
        }
        char *type = text_trim(row->fields[1]);
        bool counter = strcasecmp(type, "counter") == 0;
        if (is_label(type)) {
                choose_label(o, name, notices);
                return 0;
        }
        if (!counter && strcasecmp(type, "gauge") != 0) {
                err_set(err, ERR_DATA, "collectors: '%.40s' of '%.60s' is not a type", type, name);
                return err_hint(err, "the types are gauge, counter and label");
        }
        if (!choose_named(o, dialects, name, counter ? FAMILY_COUNTER : FAMILY_GAUGE,
                          text_trim(row->fields[2])))
                strbuf_putf(notices, "collectors: there is no value for '%.80s', ignoring\n", name);
        return 0;
}

/* Comments are whole lines; they are blanked, because CSV knows none. */
static void blank_comments(char *text, size_t len)
{
        for (char *line = text, *end = text + len; line < end;) {
                char *next = memchr(line, '\n', (size_t)(end - line));
                char *stop = next ? next : end;
                char *first = line;
                while (first < stop && (*first == ' ' || *first == '\t'))
                        first++;
                if (first == stop || *first == '#' || *first == '\r')
                        memset(line, '\n', (size_t)(stop - line));
                line = stop + 1;
        }
}

int exposition_choose(struct exposition_options *o, unsigned dialects, char *text, size_t len,
                      struct strbuf *notices, struct err *err)
{
        struct csvtext rows;
        int r = 0;
        /* Some editors begin a file with a mark of its order of bytes. */
        size_t mark = len >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
        text += mark;
        len -= mark;
        o->n_chosen = 0;
        o->serial_label = o->vbios_label = o->xid_window = false;
        blank_comments(text, len);
        csvtext_init(&rows, text, len);
        while (r == 0 && csvtext_next(&rows))
                r = read_row(o, dialects, &rows, notices, err);
        csvtext_finish(&rows);
        if (r == 0 && o->n_chosen == 0 && !o->xid_window && dialects) {
                err_set(err, ERR_DATA, "collectors: the file names no field that is known");
                r = err_hint(err, "write rows as 'DCGM_FI_DEV_GPU_TEMP, gauge, help text'");
        }
        return r;
}
