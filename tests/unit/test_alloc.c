/*
 * The n-th allocation fails, for every n: opening, sampling, recording, reading a recording,
 * reports. Nothing crashes, nothing is left allocated, and an error has words.
 */
#include "test.h"

#include <assay/assay.h>

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define UNUSED __attribute__((unused))
#define N(a) (sizeof(a) / sizeof((a)[0]))

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define OWN_ALLOCATOR
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define OWN_ALLOCATOR
#endif
#endif

#ifdef OWN_ALLOCATOR

int main(void)
{
        printf("1..0 # SKIP a sanitizer has its own allocator\n");
        return 0;
}

#else

/* --- an allocator that fails on order and counts what is there --- */

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t size);
void *__libc_memalign(size_t align, size_t size);
void __libc_free(void *p);

static atomic_long fail_at, allocations, present; /* fail_at 0: none fails */
static atomic_bool failed;
static uintptr_t spared[2]; /* code whose allocations do not fail: the driver that is not real */

static bool is_due(const void *caller)
{
        if (atomic_load(&fail_at) == 0 ||
            ((uintptr_t)caller >= spared[0] && (uintptr_t)caller < spared[1]))
                return false;
        if (atomic_fetch_add(&allocations, 1) + 1 != atomic_load(&fail_at))
                return false;
        atomic_store(&failed, true);
        errno = ENOMEM;
        return true;
}

static void *count(void *p)
{
        atomic_fetch_add(&present, p != NULL);
        return p;
}

/* The libraries find these, too. */
#pragma GCC visibility push(default)

void *malloc(size_t size)
{
        return is_due(__builtin_return_address(0)) ? NULL : count(__libc_malloc(size));
}

void *calloc(size_t n, size_t size)
{
        return is_due(__builtin_return_address(0)) ? NULL : count(__libc_calloc(n, size));
}

void *realloc(void *p, size_t size)
{
        if (is_due(__builtin_return_address(0)))
                return NULL;
        void *q = __libc_realloc(p, size);
        return p ? q : count(q);
}

void *aligned_alloc(size_t align, size_t size)
{
        return is_due(__builtin_return_address(0)) ? NULL : count(__libc_memalign(align, size));
}

int posix_memalign(void **ret, size_t align, size_t size)
{
        void *p = aligned_alloc(align, size);
        if (p)
                *ret = p;
        return p ? 0 : ENOMEM;
}

void free(void *p)
{
        atomic_fetch_sub(&present, p != NULL);
        __libc_free(p);
}

#pragma GCC visibility pop

/* --- what is tried --- */

static char folder[] = "/tmp/assay-alloc-XXXXXX";
static char capture[64], session[64], other[64], out[64];

/* Options given as name, value, …, NULL; NULL when there is no memory. */
static assay_options *options(struct assay_error *e, const char *const *words)
{
        assay_options *o = assay_options_new();
        for (size_t i = 0; o && words[i]; i += 2) {
                if (assay_options_set(o, words[i], words[i + 1], e) < 0) {
                        assay_options_free(o);
                        return NULL;
                }
        }
        return o;
}

static double now(void)
{
        struct timespec ts;
        clock_gettime(CLOCK_MONOTONIC, &ts);
        return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static int look(assay_monitor *m, struct assay_error *e)
{
        assay_frame *f = NULL;
        char *text = NULL;
        int r = assay_monitor_latest(m, &f, e);
        if (r == 1) {
                r = assay_frame_json(f, &text, e);
                assay_free(text);
                assay_frame_unref(f);
        }
        return r;
}

/* Runs a monitor until it has so many frames or has ended. */
static int watch(const char *const *words, uint64_t frames, struct assay_error *e)
{
        assay_options *o = options(e, words);
        assay_monitor *m = o ? assay_monitor_new(o) : NULL;
        assay_options_free(o);
        if (!m)
                return 0;
        int r = assay_monitor_start(m, e);
        for (double end = now() + 20; r == 0 && assay_monitor_running(m);) {
                assert_true(now() < end);
                if (assay_monitor_wait(m, frames - 1, 0.2, e) != 0)
                        break;
        }
        if (r == 0)
                r = look(m, e);
        if (r >= 0)
                r = assay_monitor_stop(m, e);
        assay_monitor_free(m);
        return r;
}

static int replay(struct assay_error *e)
{
        return watch((const char *const[]){"source", capture, "speed", "0", "levels", "none", NULL},
                     UINT64_MAX, e);
}

static int record(struct assay_error *e)
{
        unlink(out);
        return watch((const char *const[]){"source", capture, "speed", "0", "levels", "none",
                                           "output", out, NULL},
                     UINT64_MAX, e);
}

static int live(struct assay_error *e)
{
        return watch((const char *const[]){"backend", "nvml", "nvml-lib", getenv("FAKE_NVML_LIB"),
                                           "interval", "0.01", "levels", "process,system", NULL},
                     2, e);
}

static int report(const char *format, struct assay_error *e)
{
        char *text = NULL;
        int r = assay_file_report(session, format, NULL, &text, e);
        assay_free(text);
        return r;
}

static int report_text(struct assay_error *e)
{
        return report("text", e);
}

static int report_json(struct assay_error *e)
{
        return report("json", e);
}

static int report_page(struct assay_error *e)
{
        return report("html", e);
}

static int compare(struct assay_error *e)
{
        const char *const a[] = {session}, *const b[] = {other};
        char *text = NULL;
        int r = assay_diff(a, 1, b, 1, "json", NULL, &text, e);
        assay_free(text);
        return r;
}

static int table(struct assay_error *e)
{
        static const char *const tables[] = {"gpus", "phases", "events"};
        int r = 0;
        for (size_t i = 0; r >= 0 && i < N(tables); i++) {
                assay_table *t = NULL;
                r = assay_table_open(session, tables[i], NULL, &t, e);
                assay_table_free(t);
        }
        return r;
}

static int convert(struct assay_error *e)
{
        char to[80];
        snprintf(to, sizeof(to), "%s/out.csv", folder);
        unlink(to);
        return assay_file_convert(session, to, NULL, e);
}

static int mark(struct assay_error *e)
{
        assay_log *log = NULL;
        int r = assay_log_open(NULL, other, &log, e);
        if (r == 0)
                r = assay_log_event(log, "here", "{\"n\":1}", e);
        assay_log_close(log);
        return r;
}

/* --- the loop --- */

/* One round; gives how much more is allocated after it than before. */
static long one_round(int (*run)(struct assay_error *), long n, int *ret)
{
        struct assay_error e = {0};
        long before = atomic_load(&present);
        atomic_store(&allocations, 0);
        atomic_store(&failed, false);
        atomic_store(&fail_at, n);
        *ret = run(&e);
        atomic_store(&fail_at, 0);
        if (*ret < 0 && !e.message[0])
                fail_msg("allocation %ld: fails without words", n);
        return atomic_load(&present) - before;
}

/* What a library keeps for later is kept once; what is lost is lost each time. */
static bool leaks(int (*run)(struct assay_error *), long n)
{
        int r;
        for (int i = 0; i < 4; i++) {
                if (one_round(run, n, &r) <= 0)
                        return false;
        }
        return true;
}

static void every_allocation(int (*run)(struct assay_error *), const char *name)
{
        /*
         * Late ones are SQLite's, the same for each block. Asked for all, the first 3000 and many
         * of the others are tried, for minutes; otherwise some, for seconds.
         */
        bool all = getenv("EVERY_ALLOCATION") != NULL;
        long n;
        int r, errors = 0;
        for (n = 0; n < 2; n++)
                one_round(run, 0, &r); /* what libraries keep is there now */
        if (r < 0)
                fail_msg("%s fails by itself", name);
        for (n = 1; n < 1000000; n += all ? 1 + (n > 3000) * n / 256 : 1 + n / 10) {
                long more = one_round(run, n, &r);
                errors += r < 0;
                if (more > 0 && leaks(run, n))
                        fail_msg("%s: allocation %ld fails, and something is never freed", name, n);
                if (r >= 0 && !atomic_load(&failed))
                        break;
        }
        printf("# %s: %ld allocations, %d errors\n", name, n - 1, errors);
        assert_true(errors > 0);
}

#define CASE(name)                                                                                 \
        static void fails_in_##name(void **state UNUSED)                                           \
        {                                                                                          \
                every_allocation(name, #name);                                                     \
        }
CASE(replay)
CASE(record)
CASE(live)
CASE(report_text)
CASE(report_json)
CASE(report_page)
CASE(compare)
CASE(table)
CASE(convert)
CASE(mark)

/* --- what they share --- */

static int find_driver(struct dl_phdr_info *info, size_t size UNUSED, void *arg)
{
        if (strcmp(info->dlpi_name, arg) != 0)
                return 0;
        spared[0] = info->dlpi_addr;
        for (int i = 0; i < info->dlpi_phnum; i++) {
                const ElfW(Phdr) *p = &info->dlpi_phdr[i];
                if (p->p_type == PT_LOAD)
                        spared[1] = info->dlpi_addr + p->p_vaddr + p->p_memsz;
        }
        return 1;
}

static void write_capture(void)
{
        char line[4096];
        FILE *from = fopen(getenv("TOUR"), "r"), *to = fopen(capture, "w");
        assert_true(from && to);
        for (int i = 0; i < 12 && fgets(line, sizeof(line), from); i++)
                fputs(line, to);
        fclose(from);
        fclose(to);
}

static int set_up(void **state UNUSED)
{
        struct assay_error e = {0};
        char scenario[4096];
        if (!mkdtemp(folder))
                return -1;
        snprintf(capture, sizeof(capture), "%s/capture.csv", folder);
        snprintf(session, sizeof(session), "%s/a.assay", folder);
        snprintf(other, sizeof(other), "%s/b.assay", folder);
        snprintf(out, sizeof(out), "%s/out.assay", folder);
        snprintf(scenario, sizeof(scenario), "%s/nvml/h200-bf16.scn", getenv("FIXTURES"));
        setenv("FAKE_NVML", scenario, 1);
        write_capture();
        void *driver = dlopen(getenv("FAKE_NVML_LIB"), RTLD_NOW);
        dl_iterate_phdr(find_driver, getenv("FAKE_NVML_LIB"));
        return driver && spared[1] > 0 && assay_file_convert(capture, session, NULL, &e) == 0 &&
                       assay_file_convert(capture, other, NULL, &e) == 0
                   ? 0
                   : -1;
}

static int tear_down(void **state UNUSED)
{
        char command[64];
        snprintf(command, sizeof(command), "rm -r %s", folder);
        return system(command);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
            cmocka_unit_test(fails_in_replay),      cmocka_unit_test(fails_in_record),
            cmocka_unit_test(fails_in_live),        cmocka_unit_test(fails_in_report_text),
            cmocka_unit_test(fails_in_report_json), cmocka_unit_test(fails_in_report_page),
            cmocka_unit_test(fails_in_compare),     cmocka_unit_test(fails_in_table),
            cmocka_unit_test(fails_in_convert),     cmocka_unit_test(fails_in_mark),
        };
        return cmocka_run_group_tests(tests, set_up, tear_down);
}

#endif
