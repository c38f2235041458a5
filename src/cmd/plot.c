/* assay plot: a recorded run as a chart for a paper or a ticket. */
#include "app/draw.h"
#include "cmd/command.h"
#include "cmd/progress.h"

#include <string.h>

/* Leaves the path NULL, and the format, where the standard output is meant. */
static int choose_format(const struct config *config, const char **ret_path,
                         enum plot_format *ret_format, struct err *err)
{
        const char *path = config_text(config, OPT_OUTPUT);
        if (!path && isatty(STDOUT_FILENO)) {
                err_set(err, ERR_USAGE, "no output file given");
                return err_hint(err, "write for example -o run.png (or .svg, .pdf)");
        }
        if (!path || strcmp(path, "-") == 0)
                return 0;
        *ret_path = path;
        return draw_format(path, ret_format, err);
}

static int plot_input(const struct config *config, struct err *err)
{
        struct progress progress = {0};
        const struct draw_watch watch = {progress_tick, &progress};
        struct strbuf out = {0}, notices = {0};
        const char *path = NULL;
        enum plot_format format = PLOT_SVG;
        const char *const *files = (const char *const *)config->args + 1;
        size_t n = config->n_args - 1;
        int r = choose_format(config, &path, &format, err);
        for (size_t i = 0; r == 0 && i < n; i++)
                r = check_out(config, files[i], err);
        if (r == 0)
                r = n > 1 ? draw_files(config, files, n, format, &watch, &out, &notices, err)
                          : draw_file(config, files[0], format, &watch, &out, &notices, err);
        progress_end(&progress);
        print_notices(&notices);
        if (r == 0)
                r = write_bytes(config, config->args[1], &out, err);
        strbuf_finish(&out);
        strbuf_finish(&notices);
        return r;
}

static int plot_run(const struct config *config)
{
        struct err err = {0};
        int r = config->n_args > 1 ? plot_input(config, &err)
                                   : one_file(config, "assay plot run.assay -o run.png", &err);
        return r < 0 ? complain(&err) : EXIT_FINE;
}

const struct command command_plot = {
    .name = "plot",
    .args = "FILE [FILE...] -o OUT.png|svg|pdf|jpg",
    .summary = "draw a recorded run: metrics over time, phases as bands",
    .words = WORDS_OWN,
    .examples = {{"assay plot run.assay -o run.png", "the usual panels"},
                 {"assay plot run.assay -o p.svg --metrics power,sm", "chosen metrics"},
                 {"assay plot a.assay b.assay -o ab.png", "runs over each other"}},
    .run = plot_run,
};
