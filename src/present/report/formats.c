/* The formats that a report can be written in. */
#include "base/attr.h"
#include "present/report/scalars.h"

#include <errno.h>
#include <string.h>

static const struct report_format formats[] = {
    {"text", false, false, report_text},
    {"json", true, false, report_json},
    {"html", true, true, report_html},
    {"csv", false, false, report_csv},
    {"markdown", false, false, report_markdown},
    {"resource-summary", false, false, report_resource_summary},
    {"scalars", false, false, report_scalars},
};

const struct report_format *report_format_find(const char *name)
{
        for (size_t i = 0; i < ARRAY_LEN(formats); i++) {
                if (strcmp(formats[i].name, name) == 0)
                        return &formats[i];
        }
        return NULL;
}

static const char *format_name(size_t i)
{
        return i < ARRAY_LEN(formats) ? formats[i].name : NULL;
}

int report_write(const struct report *r, const char *format, struct strbuf *out, struct err *err)
{
        const struct report_format *f = report_format_find(format);
        if (!f) {
                err_set(err, ERR_USAGE, "a report cannot be written as %s", format);
                return err_hint_choices(err, format_name);
        }
        f->write(r, out);
        return out->failed ? err_set(err, -ENOMEM, "out of memory") : 0;
}
