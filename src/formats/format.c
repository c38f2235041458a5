#include "formats/format.h"

#include <ctype.h>

#define FORMAT(name) extern const struct format_ops format_##name;
#include "formats/formats.def"
#undef FORMAT

static const struct format_ops *const table[] = {
#define FORMAT(name) &format_##name,
#include "formats/formats.def"
#undef FORMAT
    NULL,
};

const struct format_ops *format_at(size_t i)
{
        return i < ARRAY_LEN(table) ? table[i] : NULL;
}

int capture_line(struct capture *c, struct line *ret)
{
        if (c->holding) {
                c->holding = false;
                *ret = c->held;
                return 1;
        }
        return lines_next(&c->lines, ret);
}

void capture_hold(struct capture *c, const struct line *line)
{
        c->held = *line;
        c->holding = true;
}

static void note_first(struct capture *c)
{
        if (c->trouble.first_line == 0)
                c->trouble.first_line = c->lines.number;
}

void capture_bad_line(struct capture *c, const struct line *line)
{
        note_first(c);
        if (c->trouble.skipped++ > 0)
                return;
        size_t n = 0;
        for (size_t i = 0; i < line->len && n < sizeof(c->first_bad) - 1; i++)
                c->first_bad[n++] = isprint((unsigned char)line->s[i]) ? line->s[i] : '.';
        c->first_bad[n] = '\0';
}

void capture_cut_row(struct capture *c)
{
        note_first(c);
        c->trouble.cut++;
}
