#include "cmd/fleet_idle.h"

#include "app/setup.h"
#include "base/clock.h"
#include "base/list.h"
#include "cmd/idle_digest.h"
#include "cmd/idle_except.h"
#include "cmd/idle_reported.h"
#include "cmd/times.h"
#include "present/fleet/fleet.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GRACE_LEAST_NS (600 * NS_PER_S) /* waste is decided on ten minutes */
#define GRACE_MOST_NS (86400 * 7 * NS_PER_S)

struct idle {
        const struct config *config;
        struct idle_way way;
        const struct doc_part *table;
        const struct doc_cell **rows;   /* by user */
        struct idle_reported *reported; /* NULL unless something is sent */
        size_t n_sent, n_failed;
};

int fleet_idle_refuse(const struct config *config, bool idle, struct err *err)
{
        static const enum option own[] = {OPT_GRACE, OPT_EXCEPT,      OPT_SCANCEL, OPT_NOTIFY,
                                          OPT_SEND,  OPT_MAIL_DOMAIN, OPT_REPEAT,  OPT_STATE};
        static const enum option windows[] = {OPT_WINDOW, OPT_SINCE, OPT_LIVE, OPT_QUERIES};
        static const enum option sending[] = {OPT_SEND, OPT_MAIL_DOMAIN, OPT_REPEAT, OPT_STATE};
        static const enum option tables[] = {OPT_FORMAT};
        if (!idle)
                return config_refuse(config, own, ARRAY_LEN(own), "is for 'assay fleet idle'",
                                     "leave it out, or write 'assay fleet idle'", err);
        int r = config_refuse(config, windows, ARRAY_LEN(windows), "is not for idle jobs",
                              "leave it out: --grace says how long they must have been idle", err);
        if (r == 0 && !config_text(config, OPT_NOTIFY))
                r = config_refuse(config, sending, ARRAY_LEN(sending), "is about messages",
                                  "leave it out, or add --notify mail", err);
        if (r == 0 && (config_text(config, OPT_NOTIFY) || config_flag(config, OPT_SCANCEL)))
                r = config_refuse(config, tables, ARRAY_LEN(tables), "is for the table",
                                  "leave it out, or --notify and --scancel", err);
        if (r == 0 && config_text(config, OPT_NOTIFY) && config_flag(config, OPT_SCANCEL))
                r = err_set(err, ERR_USAGE, "--scancel and --notify are two things: give one");
        return r;
}

int fleet_idle_window(const struct config *config, int64_t *ret_ns, struct err *err)
{
        const char *grace = config_text(config, OPT_GRACE);
        if (!times_span(grace, ret_ns) || *ret_ns < GRACE_LEAST_NS || *ret_ns > GRACE_MOST_NS) {
                err_set(err, ERR_USAGE, "--grace: '%s' is not between 10 minutes and 7 days",
                        grace);
                return err_hint(err, "write 30m, 1h or 1d");
        }
        return 0;
}

static const char *cell_text(const struct doc_cell *row, enum fleet_idle_column column)
{
        return row[column].text ? row[column].text : "";
}

static int compare_owners(const void *a, const void *b)
{
        const struct doc_cell *const *x = a, *const *y = b;
        return strcmp(cell_text(*x, IDLE_OWNER), cell_text(*y, IDLE_OWNER));
}

static void make_job_key(const struct doc_cell *row, char ret[IDLE_KEY_MAX])
{
        snprintf(ret, IDLE_KEY_MAX, "%.60s %.20s %.120s %.250s", cell_text(row, IDLE_CLUSTER),
                 cell_text(row, IDLE_KIND), cell_text(row, IDLE_OWNER), cell_text(row, IDLE_JOB));
}

/* --- scancel lines
 * --------------------------------------------------------------------------------- */

static void put_scancel(struct strbuf *out, const struct doc_part *t)
{
        for (size_t i = 0; i < t->n_rows; i++) {
                const struct doc_cell *row = &t->cells[i * t->n_columns];
                const char *cluster = cell_text(row, IDLE_CLUSTER);
                bool plain = strspn(cluster, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                             "0123456789_-") == strlen(cluster) &&
                             cluster[0] != '-';
                if (!idle_is_slurm_job(row) || !plain)
                        strbuf_puts(out, "# ");
                strbuf_putf(
                    out, "scancel %s%s%s%.60s  # %.60s: %.0f GPUs on %.120s, %.1f GPU-hours idle\n",
                    cluster[0] ? "-M " : "", cluster, cluster[0] ? " " : "",
                    cell_text(row, IDLE_JOB), cell_text(row, IDLE_OWNER),
                    value_or(row[IDLE_GPUS].v, 0), cell_text(row, IDLE_NODES),
                    value_or(row[IDLE_WASTED].v, 0) / 3600);
        }
}

/* --- digests
 * --------------------------------------------------------------------------------------- */

static void put_digest(struct idle *x, const struct idle_digest *d, struct strbuf *out)
{
        char address[512];
        bool mail = strcmp(x->way.to, "mail") == 0;
        if (mail && !idle_digest_address(d, &x->way, address, sizeof(address)))
                strbuf_putf(out, "--- no mail can go to '%.80s'\n", d->user);
        else
                strbuf_putf(out, "--- to %s\n", mail ? address : d->user);
        idle_digest_text(d, &x->way, out);
        strbuf_putc(out, '\n');
}

static void send_digest(struct idle *x, const struct idle_digest *d)
{
        struct err err = {0};
        char key[IDLE_KEY_MAX];
        if (idle_digest_send(d, &x->way, &err) < 0) {
                x->n_failed++;
                notice("%s, skipping", err.msg);
                return;
        }
        x->n_sent++;
        for (size_t i = 0; i < d->n; i++) {
                make_job_key(d->rows[i], key);
                (void)idle_reported_add(x->reported, key);
        }
}

/* Jobs of one user, without those that the user was reported. */
static void digest_user(struct idle *x, const struct doc_cell **rows, size_t n, struct strbuf *out)
{
        struct idle_digest d = {.user = cell_text(rows[0], IDLE_OWNER), .rows = rows};
        char key[IDLE_KEY_MAX];
        for (size_t i = 0; i < n; i++) {
                make_job_key(rows[i], key);
                if (!idle_reported_has(x->reported, key))
                        rows[d.n++] = rows[i];
        }
        if (d.n == 0 || !d.user[0])
                return;
        if (config_flag(x->config, OPT_SEND))
                send_digest(x, &d);
        else
                put_digest(x, &d, out);
}

static int digest_all(struct idle *x, struct strbuf *out, struct err *err)
{
        const struct doc_part *t = x->table;
        x->rows = calloc(t->n_rows + 1, sizeof(*x->rows));
        if (!x->rows)
                return err_set(err, -ENOMEM, "out of memory");
        for (size_t i = 0; i < t->n_rows; i++)
                x->rows[i] = &t->cells[i * t->n_columns];
        qsort(x->rows, t->n_rows, sizeof(*x->rows), compare_owners);
        for (size_t i = 0, n; i < t->n_rows; i += n) {
                for (n = 1; i + n < t->n_rows && compare_owners(&x->rows[i], &x->rows[i + n]) == 0;)
                        n++;
                digest_user(x, &x->rows[i], n, out);
        }
        free(x->rows);
        return 0;
}

static int open_reported(struct idle *x, struct err *err)
{
        const char *repeat = config_text(x->config, OPT_REPEAT);
        char folder[SETUP_PATH_MAX];
        int64_t repeat_ns;
        setup_state_folder(x->config, folder);
        if (!times_span(repeat, &repeat_ns)) {
                err_set(err, ERR_USAGE, "--repeat: '%s' is not a span", repeat);
                return err_hint(err, "write 12h or 1d");
        }
        if (!folder[0])
                return err_set(err, ERR_USAGE, "no folder to remember whom it was sent to"),
                       err_hint(err, "give --state DIR");
        return idle_reported_open(folder, clock_wall_ns(), repeat_ns, &x->reported, err);
}

static int notify_users(struct idle *x, struct strbuf *out, int *ret_status, struct err *err)
{
        bool send = config_flag(x->config, OPT_SEND);
        int r = open_reported(x, err);
        if (r == 0)
                r = digest_all(x, out, err);
        if (r == 0 && send) {
                strbuf_putf(out, "%zu digest%s sent, %zu failed\n", x->n_sent,
                            x->n_sent == 1 ? "" : "s", x->n_failed);
                r = x->n_sent > 0 ? idle_reported_save(x->reported, err) : 0;
                *ret_status = x->n_failed > 0 ? 1 : *ret_status;
        } else if (r == 0) {
                strbuf_puts(out, out->len > 0 ? "nothing was sent: --send sends it\n"
                                              : "no job to report\n");
        }
        idle_reported_close(x->reported);
        return r;
}

/* --- the command
 * ----------------------------------------------------------------------------------- */

static int write_idle(const struct config *config, const struct fleet_report *report,
                      int64_t grace_ns, struct strbuf *out, int *ret_status, struct err *err)
{
        struct idle x = {
            .config = config,
            .table = &report->tables.parts[0],
            .way = {.to = config_text(config, OPT_NOTIFY),
                    .domain = config_text(config, OPT_MAIL_DOMAIN),
                    .timeout_ns = clock_from_seconds(config_number(config, OPT_TIMEOUT)),
                    .grace_ns = grace_ns}};
        if (x.way.to)
                return notify_users(&x, out, ret_status, err);
        if (config_flag(config, OPT_SCANCEL)) {
                put_scancel(out, x.table);
                return 0;
        }
        return fleet_write(report, out_format(config), 0, out, err);
}

int fleet_idle_show(const struct config *config, const struct fleet_config *fc,
                    const struct fleet_asked *asked, struct strbuf *out, int *ret_status,
                    struct err *err)
{
        struct fleet_asked with = *asked;
        struct idle_except *except = NULL;
        struct fleet_report report;
        struct fleet *f = NULL;
        const char *file = config_text(config, OPT_EXCEPT);
        int r = file ? idle_except_read(file, &except, err) : 0;
        with.leaves_out = idle_except_names;
        with.leaves_arg = except;
        /* Nobody is left out of a message for want of room. */
        if (config_text(config, OPT_NOTIFY) || config_flag(config, OPT_SCANCEL))
                with.rows = 10000;
        if (r == 0)
                r = fleet_open(fc, &f, err);
        if (r == 0)
                r = fleet_collect_idle(f, &with, &report, err);
        if (r > 0) {
                int code = write_idle(config, &report, with.window_ns, out, ret_status, err);
                fleet_report_finish(&report);
                r = code < 0 ? code : r;
        }
        fleet_close(f);
        idle_except_free(except);
        return r;
}
