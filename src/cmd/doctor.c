/* assay doctor: what works, what does not, and what to do. */
#include "doctor/doctor.h"

#include "app/input.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "cmd/checkup.h"
#include "cmd/command.h"
#include "present/stream/json.h"

#include <string.h>
#include <strings.h>
#include <sys/ioctl.h>

#define CHECKS_MAX 32
#define NAME_WIDTH 13
#define INDENT 20
#define WIDTH_MIN 60
#define WIDTH_MAX 110
#define CONCLUSION_MAX 400

struct report {
        const char *backend; /* that it is about; "auto" for all */
        const struct check *checks[CHECKS_MAX];
        struct result results[CHECKS_MAX];
        size_t n;
        bool counters;
        bool nothing; /* there is no GPU at all */
        bool kernel;  /* all GPUs here are shown by the kernel */
        bool others;  /* some are, beside NVIDIA's */
};

/* What file and environment say of it is for reading: the doctor examines everything then. */
static const char *asked_backend(const struct config *config)
{
        return config_is_given(config, OPT_BACKEND) ? config_text(config, OPT_BACKEND) : "auto";
}

static void run_checks(const struct config *config, struct doctor *d, struct report *r)
{
        struct winsize size = {0};
        checkup_source(config, &d->source);
        r->backend = asked_backend(config);
        d->get_env = get_env;
        d->to_terminal = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0;
        d->columns = size.ws_col;
        d->rows = size.ws_row;
        doctor_prepare(d);
        const struct check *c;
        for (size_t i = 0; r->n < CHECKS_MAX && (c = check_at(i)); i++) {
                if (!check_is_of(c, r->backend))
                        continue;
                r->checks[r->n] = c;
                c->run(d, &r->results[r->n]);
                r->counters |= r->results[r->n++].counters;
        }
        bool nvidia = !doctor_no_nvidia(d) || d->n_pci > 0;
        if (strcmp(r->backend, "auto") != 0) {
                r->kernel = d->n_drm > 0 && strcmp(r->backend, "drm") == 0;
                return;
        }
        r->kernel = d->n_drm > 0 && !nvidia;
        r->others = d->n_drm > 0 && nvidia;
        r->nothing = d->n_drm == 0 && !nvidia;
}

static void write_conclusion(const struct report *r, char *buf, size_t size)
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
        else if (strcmp(r->backend, "auto") != 0 && !r->kernel)
                snprintf(buf, size,
                         "--backend %s %s here: fix what fails or warns above, from the top, or "
                         "leave out --backend to see what else there is.",
                         r->backend,
                         strcmp(r->backend, "drm") == 0 ? "finds no GPU"
                                                        : "gives no SM and tensor counters");
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
                    "has no SM and tensor counters, so the class of a busy GPU is unknown, and "
                    "what "
                    "limits it is only likely.");
        else
                snprintf(
                    buf, size,
                    "No source gives SM and tensor counters here: fix what fails or warns above, "
                    "from the top. Until then assay shows the other values, marks these as "
                    "missing, and tells what limits a GPU as likely.");
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
        write_conclusion(r, end, sizeof(end));
        strbuf_putc(out, '\n');
        text_put_wrapped(out, end, 0, width);
}

static void write_json(const struct report *r, struct strbuf *out)
{
        struct jsonw j = {.out = out};
        char end[CONCLUSION_MAX];
        write_conclusion(r, end, sizeof(end));
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

/* The doctor tests an exporter that it can ask by itself; files need no doctor. */
static int check_asked(const struct config *config, struct err *err)
{
        static const enum option source[] = {OPT_SOURCE, OPT_TOKEN_FILE};
        static const enum option nvml[] = {OPT_NVML_LIB}, dcgm[] = {OPT_DCGMI, OPT_DCGM_HOST};
        const char *backend = asked_backend(config);
        const char *location = config_text(config, OPT_SOURCE);
        const char *hint = "leave it out, or --backend";
        bool all = strcmp(backend, "auto") == 0;
        int r = 0;
        if (strcmp(backend, "replay") == 0) {
                err_set(err, ERR_USAGE, "--backend replay reads files: there is nothing to check");
                return err_hint(err, "show the file: assay once FILE");
        }
        if (config_is_given(config, OPT_SOURCE) && !input_is_list(location) &&
            (!input_is_address(location) || strncasecmp(location, "https:", 6) == 0)) {
                err_set(err, ERR_USAGE, "the doctor cannot test '%s': only exporters, by http",
                        location);
                return err_hint(err, "show what it has: assay once '%s'", location);
        }
        if (!all && strcmp(backend, "prometheus") != 0)
                r = config_refuse(config, source, ARRAY_LEN(source), "is for an exporter", hint,
                                  err);
        if (r == 0 && !all && strcmp(backend, "nvml") != 0 && strcmp(backend, "dcgm") != 0)
                r = config_refuse(config, nvml, ARRAY_LEN(nvml), "is for NVML", hint, err);
        if (r == 0 && !all && strcmp(backend, "dcgm") != 0)
                r = config_refuse(config, dcgm, ARRAY_LEN(dcgm), "is for DCGM", hint, err);
        return r;
}

static int doctor_run(const struct config *config)
{
        struct doctor d = {0};
        struct report r = {0};
        struct strbuf out = {0};
        struct err err = {0};
        if (check_asked(config, &err) < 0)
                return complain(&err);
        run_checks(config, &d, &r);
        size_t width = d.columns ? d.columns : 100;
        width = MIN(MAX(width, (size_t)WIDTH_MIN), (size_t)WIDTH_MAX);
        if (config_flag(config, OPT_JSON))
                write_json(&r, &out);
        else
                write_text(&r, width, &out);
        print_text(&out);
        strbuf_finish(&out);
        doctor_finish(&d);
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
