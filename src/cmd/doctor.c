/* assay doctor: what works, what does not, and what to do. */
#include "doctor/doctor.h"

#include "base/strbuf.h"
#include "base/text.h"
#include "cmd/command.h"
#include "present/stream/json.h"
#include "translate/translate.h"

#include <string.h>
#include <sys/ioctl.h>

#define CHECKS_MAX 32
#define NAME_WIDTH 13
#define INDENT 20
#define WIDTH_MIN 60
#define WIDTH_MAX 110
#define CONCLUSION_MAX 400

struct report {
        const struct check *checks[CHECKS_MAX];
        struct result results[CHECKS_MAX];
        size_t n;
        bool counters;
        bool nothing; /* there is no GPU at all */
        bool kernel;  /* all GPUs here are shown by the kernel */
        bool others;  /* some are, beside NVIDIA's */
};

static void examine(const struct config *config, struct doctor *d, struct report *r)
{
        struct winsize size = {0};
        d->source.location = config_text(config, OPT_SOURCE);
        d->source.dcgmi = setup_program(config, OPT_DCGMI);
        d->source.dcgm_host = config_text(config, OPT_DCGM_HOST);
        d->source.dcgm_ids = translate_dcgm_ids(&d->source.n_dcgm_ids);
        d->source.root = config_is_set(config, OPT_ROOT) ? config_text(config, OPT_ROOT) : "";
        d->get_env = get_env;
        d->to_terminal = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0;
        d->columns = size.ws_col;
        d->rows = size.ws_row;
        doctor_prepare(d);
        for (const struct check *c; r->n < CHECKS_MAX && (c = check_at(r->n)); r->n++) {
                r->checks[r->n] = c;
                c->run(d, &r->results[r->n]);
                r->counters |= r->results[r->n].counters;
        }
        bool nvidia = !doctor_no_nvidia(d) || d->n_pci > 0;
        r->kernel = d->n_drm > 0 && !nvidia;
        r->others = d->n_drm > 0 && nvidia;
        r->nothing = d->n_drm == 0 && !nvidia;
}

static void conclude(const struct report *r, char *buf, size_t size)
{
        size_t len = (size_t)snprintf(buf, size, "SM and tensor counters can be read through");
        for (size_t i = 0, n = 0; i < r->n; i++) {
                if (r->results[i].counters && len + 40 < size)
                        len += (size_t)snprintf(buf + len, size - len, "%s %s", n++ ? " and" : "",
                                                r->checks[i]->name);
        }
        if (r->counters)
                snprintf(buf + len, size - len, "%s",
                         r->others ? "; AMD's and Intel's GPUs are shown without them." : ".");
        else if (r->nothing)
                snprintf(
                    buf, size,
                    "No GPU here. assay can show a recording (assay FILE), "
                    "an exporter (assay HOST:9400/metrics), the DCGM engine of another machine "
                    "(--backend dcgm --dcgm-host HOST), or the bundled tour (assay tour).");
        else if (r->kernel)
                snprintf(
                    buf, size,
                    "AMD's and Intel's GPUs can be read through the kernel (--backend drm). It "
                    "has no SM and tensor counters, so the class of a busy GPU is unknown.");
        else
                snprintf(
                    buf, size,
                    "No source gives SM and tensor counters here: fix what fails or warns above, "
                    "from the top. Until then assay shows the other values and marks these as "
                    "missing.");
}

static void write_text(const struct report *r, size_t width, struct strbuf *out)
{
        for (size_t i = 0; i < r->n; i++) {
                const struct result *f = &r->results[i];
                size_t before = out->len;
                strbuf_putf(out, "%-4s  %-*s ",
                            f->outcome == OUTCOME_NOTE ? "--" : outcome_name(f->outcome),
                            NAME_WIDTH, r->checks[i]->name);
                strbuf_fill(out, ' ', INDENT - (out->len - before));
                text_put_wrapped(out, f->says, INDENT, width);
                if (f->remedy[0]) {
                        strbuf_fill(out, ' ', INDENT);
                        strbuf_puts(out, "> ");
                        text_put_wrapped(out, f->remedy, INDENT + 2, width);
                }
        }
        char end[CONCLUSION_MAX];
        conclude(r, end, sizeof(end));
        strbuf_putc(out, '\n');
        text_put_wrapped(out, end, 0, width);
}

static void write_json(const struct report *r, struct strbuf *out)
{
        struct jsonw j = {.out = out};
        char end[CONCLUSION_MAX];
        conclude(r, end, sizeof(end));
        jsonw_object(&j, NULL);
        jsonw_whole(&j, "schema", JSON_SCHEMA_VERSION);
        jsonw_text(&j, "program", "assay");
        jsonw_text(&j, "version", program_version);
        jsonw_bool(&j, "counters", r->counters);
        jsonw_array(&j, "checks");
        for (size_t i = 0; i < r->n; i++) {
                const struct result *f = &r->results[i];
                jsonw_line(&j);
                jsonw_object(&j, NULL);
                jsonw_text(&j, "check", r->checks[i]->id);
                jsonw_text(&j, "outcome", outcome_name(f->outcome));
                jsonw_bool(&j, "counters", f->counters);
                jsonw_text(&j, "says", f->says);
                jsonw_text_or_null(&j, "remedy", f->remedy);
                jsonw_end(&j);
        }
        jsonw_line(&j);
        jsonw_end(&j);
        jsonw_text(&j, "conclusion", end);
        jsonw_end(&j);
        strbuf_putc(out, '\n');
}

static int doctor_run(const struct config *config)
{
        static struct doctor d;
        static struct report r;
        struct strbuf out = {0};
        examine(config, &d, &r);
        size_t width = d.columns ? d.columns : 100;
        width = MIN(MAX(width, (size_t)WIDTH_MIN), (size_t)WIDTH_MAX);
        if (config_flag(config, OPT_JSON))
                write_json(&r, &out);
        else
                write_text(&r, width, &out);
        if (!config_flag(config, OPT_JSON))
                text_clean_lines(&out, 0);
        strbuf_flush(&out, STDOUT_FILENO);
        strbuf_finish(&out);
        return r.counters || r.kernel ? EXIT_FINE : EXIT_NO_SOURCE;
}

const struct command command_doctor = {
    .name = "doctor",
    .args = "[URL]",
    .summary = "check driver, permissions and sources, and say what to do",
    .words = WORDS_SOURCE,
    .examples = {{"assay doctor", "why a counter is missing"},
                 {"assay doctor node7:9400", "test an exporter"},
                 {"assay doctor --json", "for a program"}},
    .run = doctor_run,
};
