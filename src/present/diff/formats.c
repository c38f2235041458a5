/* The formats that a comparison can be written in. */
#include "base/attr.h"
#include "present/diff/diff.h"

#include <errno.h>
#include <string.h>

static const struct {
        const char *name;
        void (*write)(const struct diff_page *page, struct strbuf *out);
} formats[] = {
    {"text", diff_text}, {"json", diff_json},   {"markdown", diff_markdown},
    {"html", diff_html}, {"junit", diff_junit},
};

static const char *format_name(size_t i)
{
        return i < ARRAY_LEN(formats) ? formats[i].name : NULL;
}

int diff_write(const struct diff_page *page, const char *format, struct strbuf *out,
               struct err *err)
{
        for (size_t i = 0; i < ARRAY_LEN(formats); i++) {
                if (strcmp(formats[i].name, format) != 0)
                        continue;
                formats[i].write(page, out);
                return out->failed ? err_set(err, -ENOMEM, "out of memory") : 0;
        }
        err_set(err, ERR_USAGE, "a comparison cannot be written as %s", format);
        return err_hint_choices(err, format_name);
}
