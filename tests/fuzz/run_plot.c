#include "run_plot.h"

#include "app/draw.h"

void fuzz_plot_run(const struct config *config, const char *path)
{
        struct strbuf out = {0}, notices = {0};
        struct err err = {0};
        draw_file(config, path, PLOT_SVG, NULL, &out, &notices, &err);
        strbuf_finish(&out);
        strbuf_finish(&notices);
}
