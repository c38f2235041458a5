/* assay columns: what export can write. */
#include "present/stream/columns.h"
#include "base/strbuf.h"
#include "cmd/command.h"
#include "present/stream/json.h"

static const char *set_name(enum column_set set)
{
        switch (set) {
        case COLUMN_SET_DEFAULT:
                return "default";
        case COLUMN_SET_ALL:
                return "all";
        case COLUMN_SET_FULL:
                return "full";
        }
        return "?";
}

static void write_json(struct strbuf *out)
{
        const struct column *c;
        struct jsonw j = {.out = out};
        jsonw_array(&j, NULL);
        for (size_t i = 0; (c = column_at(i)); i++) {
                jsonw_line(&j);
                jsonw_object(&j, NULL);
                jsonw_text(&j, "name", c->name);
                jsonw_text(&j, "set", set_name(c->set));
                jsonw_text(&j, "help", c->help);
                jsonw_end(&j);
        }
        jsonw_line(&j);
        jsonw_end(&j);
        strbuf_putc(out, '\n');
}

static int columns_run(const struct config *config)
{
        struct strbuf out = {0};
        const struct column *c;
        if (config_flag(config, OPT_JSON))
                write_json(&out);
        for (size_t i = 0; !config_flag(config, OPT_JSON) && (c = column_at(i)); i++)
                strbuf_putf(&out, "%-24s %-8s %s\n", c->name, set_name(c->set), c->help);
        print_text(&out);
        strbuf_finish(&out);
        return EXIT_FINE;
}

const struct command command_columns = {
    .name = "columns",
    .args = "",
    .summary = "list the columns that export writes",
    .words = WORDS_NONE,
    .examples = {{"assay columns", "all, with the set each is in"},
                 {"assay columns --json", "for a program"},
                 {"assay columns | grep power", "find one"}},
    .run = columns_run,
};
