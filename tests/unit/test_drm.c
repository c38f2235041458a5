/* The drm source's parsers: clock levels, fdinfo, the scanner's arithmetic, names. */
#include "test.h"

#include "base/attr.h"
#include "base/clock.h"
#include "read/drm/dpm.h"
#include "read/drm/fdinfo.h"
#include "read/drm/gpu.h"
#include "read/drm/pciids.h"
#include "read/drm/scan.h"
#include "read/source.h"
#include "translate/translate.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static void clock_levels(void **state UNUSED)
{
        static const struct {
                const char *text;
                bool fine, has_now;
                double now, max;
                const char *why;
        } cases[] = {
            {"0: 500Mhz\n1: 2482Mhz *\n", true, true, 2482, 2482, "two levels"},
            {"0: 500Mhz *\n1: 2482Mhz", true, true, 500, 2482, "no newline at the end"},
            {"S: 19Mhz *\n0: 500Mhz\n", true, true, 19, 500, "deep sleep"},
            {"0: 300MHz\n", true, false, 0, 300, "none in use"},
            {"2: 900Mhz\n1: 1200Mhz *\n", true, true, 1200, 1200, "not in order"},
            {"0: 131.5Mhz *\n", true, true, 131.5, 131.5, "a fraction"},
            {"OD_SCLK:\n0: 500Mhz *\n", true, true, 500, 500, "a heading"},
            {"0: 2.5GT/s, x8 *\n", false, false, 0, 0, "pp_dpm_pcie has no clocks"},
            {"", false, false, 0, 0, "empty"},
            {"\n\n", false, false, 0, 0, "empty lines"},
            {"0:\n", false, false, 0, 0, "no value"},
            {"0: Mhz *\n", false, false, 0, 0, "no number"},
            {"0: 99999999Mhz\n", false, false, 0, 0, "no clock is that fast"},
            {"0: -5Mhz\n", false, false, 0, 0, "below zero"},
            {"1234: 500Mhz\n", false, false, 0, 0, "no list is that long"},
        };
        for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
                struct dpm d = {0};
                bool fine = dpm_parse(cases[i].text, strlen(cases[i].text), &d);
                if (fine != cases[i].fine || d.has_now != cases[i].has_now ||
                    d.now_mhz != cases[i].now || d.max_mhz != cases[i].max)
                        fail_msg("%s: %d %g of %g", cases[i].why, fine, d.now_mhz, d.max_mhz);
        }
}

static void client_of_amdgpu(void **state UNUSED)
{
        static const char text[] = "pos:\t0\nflags:\t02100002\ndrm-driver:\tamdgpu\n"
                                   "drm-client-id:\t42\ndrm-pdev:\t0000:03:00.0\npasid:\t32770\n"
                                   "drm-memory-vram:\t2048 KiB\ndrm-memory-gtt: \t3 MiB\n"
                                   "drm-memory-cpu:\t0 KiB\namd-memory-visible-vram:\t99 KiB\n"
                                   "drm-engine-gfx:\t123456789 ns\ndrm-engine-enc_1:\t5 ns\n";
        struct fdinfo f;
        assert_true(fdinfo_parse(text, strlen(text), &f));
        assert_string_equal(f.driver, "amdgpu");
        assert_string_equal(f.pdev, "0000:03:00.0");
        assert_true(f.has_client && f.client == 42);
        assert_int_equal(f.n_engines, 2);
        assert_string_equal(f.engines[1].name, "enc_1");
        assert_int_equal(f.engines[0].ns, 123456789);
        assert_int_equal(f.engines[0].capacity, 1);
        assert_int_equal(fdinfo_device_bytes(&f), 2048 * 1024);
        assert_int_equal(fdinfo_host_bytes(&f), 3 << 20);
}

static void client_of_xe(void **state UNUSED)
{
        static const char text[] = "drm-driver:\txe\ndrm-client-id:\t3\n"
                                   "drm-total-vram0:\t23992 KiB\ndrm-resident-vram0:\t16 MiB\n"
                                   "drm-total-gtt:\t192 KiB\n"
                                   "drm-cycles-ccs:\t28257900\ndrm-total-cycles-ccs:\t7655183225\n"
                                   "drm-engine-capacity-ccs:\t4\ndrm-maxfreq-gpu:\t800 MHz\n";
        struct fdinfo f;
        assert_true(fdinfo_parse(text, strlen(text), &f));
        const struct fdinfo_engine *e = &f.engines[0];
        assert_true(e->has_cycles && e->has_total && !e->has_ns);
        assert_int_equal(e->cycles, 28257900);
        assert_int_equal(e->total_cycles, 7655183225);
        assert_int_equal(e->capacity, 4);
        assert_int_equal(f.engines[1].max_hz, 800000000);
        /* Resident counts before total, whichever comes first. */
        assert_int_equal(fdinfo_device_bytes(&f), 16 << 20);
        assert_int_equal(fdinfo_host_bytes(&f), 192 << 10);
        assert_int_equal(f.n_regions, 2);
}

static void odd_clients(void **state UNUSED)
{
        static const struct {
                const char *text;
                bool fine;
                size_t engines, regions;
                const char *why;
        } cases[] = {
            {"pos:\t0\nflags:\t02\n", false, 0, 0, "not a DRM file"},
            {"", false, 0, 0, "empty"},
            {"drm-driver:\t\n", false, 0, 0, "no driver's name"},
            {"drm-driver: x\ndrm-engine-a: 5 ns", true, 1, 0, "cut after the last line"},
            {"drm-driver: x\ndrm-engine-a: five ns\n", true, 0, 0, "not a number"},
            {"drm-driver: x\ndrm-engine-a: -5 ns\n", true, 0, 0, "below zero"},
            {"drm-driver: x\ndrm-engine-a: 18446744073709551616 ns\n", true, 0, 0, "too large"},
            {"drm-driver: x\ndrm-memory-a: 18446744073709551615 KiB\n", true, 0, 0, "overflows"},
            {"drm-driver: x\ndrm-memory-a: 5 parsecs\n", true, 0, 0, "unknown unit"},
            {"drm-driver: x\ndrm-engine-: 5 ns\n", true, 0, 0, "an engine without a name"},
            {"drm-driver: x\ndrm-engine-a: 5 ns\ndrm-engine-a: 6 ns\n", true, 1, 0, "twice"},
            {"drm-driver: x\ndrm-engine-abcdefghijklmnopqrstuvwxyz: 5 ns\n", true, 0, 0,
             "long name"},
        };
        for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
                struct fdinfo f = {0};
                bool fine = fdinfo_parse(cases[i].text, strlen(cases[i].text), &f);
                if (fine != cases[i].fine || f.n_engines != cases[i].engines ||
                    f.n_regions != cases[i].regions)
                        fail_msg("%s: %d, %zu engines, %zu regions", cases[i].why, fine,
                                 f.n_engines, f.n_regions);
        }
}

static void zero_capacity_is_one(void **state UNUSED)
{
        static const char text[] = "drm-driver: x\ndrm-engine-a: 1 ns\ndrm-engine-capacity-a: 0\n";
        struct fdinfo f;
        assert_true(fdinfo_parse(text, strlen(text), &f));
        assert_int_equal(f.engines[0].capacity, 1);
}

static void rates(void **state UNUSED)
{
        struct drm_counter c = {0};
        assert_int_equal(drm_rate(&c, 100, 1 * NS_PER_S).state, STATE_BLANK);
        struct raw r = drm_rate(&c, 300, 2 * NS_PER_S + NS_PER_S / 2);
        assert_true(r.state == STATE_OK && r.num > 133 && r.num < 134);
        assert_int_equal(drm_rate(&c, 5, 3 * NS_PER_S).state, STATE_ERROR); /* a reset */
        assert_int_equal(drm_rate(&c, 6, 3 * NS_PER_S).state, STATE_BLANK); /* no time passed */
}

/* What the source gives, translate/ knows. */
static void every_field_means_something(void **state UNUSED)
{
        for (enum drm_field f = 0; f < DRM_FIELD_COUNT; f++) {
                const char *name = drm_field_name(f);
                if (!translate_wants(DIALECT_DRM, name, strlen(name)))
                        fail_msg("%s is read and not translated", name);
        }
}

static void write_file(const char *root, const char *name, const char *text)
{
        char path[4096];
        snprintf(path, sizeof(path), "%s/%s", root, name);
        for (char *s = path + strlen(root) + 1; (s = strchr(s, '/')); *s++ = '/') {
                *s = '\0';
                mkdir(path, 0755);
        }
        FILE *f = fopen(path, "w");
        assert_non_null(f);
        fputs(text, f);
        fclose(f);
}

static void make_client(const char *root, unsigned pid, unsigned fd, unsigned client,
                        unsigned long ns)
{
        char name[64], path[4096], text[256];
        snprintf(name, sizeof(name), "proc/%u/fd/none", pid);
        write_file(root, name, "");
        snprintf(path, sizeof(path), "%s/proc/%u/fd/%u", root, pid, fd);
        remove(path);
        assert_int_equal(symlink("/dev/dri/renderD128", path), 0);
        snprintf(name, sizeof(name), "proc/%u/fdinfo/%u", pid, fd);
        snprintf(text, sizeof(text),
                 "drm-driver: i915\ndrm-pdev: 0000:00:02.0\ndrm-client-id: %u\n"
                 "drm-engine-render: %lu ns\ndrm-resident-local0: 1 MiB\n",
                 client, ns);
        write_file(root, name, text);
}

static const struct scan_use *use_by(const struct drm_scan *s, uint32_t pid)
{
        for (size_t i = 0; i < s->n_uses; i++) {
                if (s->uses[i].pid == pid)
                        return &s->uses[i];
        }
        return NULL;
}

/* The clock is ours here, so the shares are exact. */
static void uses_of_processes(void **state UNUSED)
{
        static struct drm_scan scan;
        static const struct scan_gpu gpu = {
            .pdev = "0000:00:02.0", .card = "card0", .render = "renderD128"};
        char root[] = "/tmp/test_drm.XXXXXX";
        assert_non_null(mkdtemp(root));
        make_client(root, 100, 5, 7, 1000);
        make_client(root, 200, 5, 7, 1000); /* the same client: a descriptor passed on */
        make_client(root, 200, 6, 8, 0);
        assert_int_equal(drm_scan_init(&scan, root, NULL), 0);
        assert_int_equal(drm_scan_run(&scan, &gpu, 1, 10 * NS_PER_S), 0);
        assert_false(scan.devices[0].has_util);
        assert_int_equal(scan.devices[0].clients, 2);

        make_client(root, 100, 5, 7, 1000 + 500000000);
        make_client(root, 200, 5, 7, 1000 + 500000000);
        make_client(root, 200, 6, 8, 250000000);
        assert_int_equal(drm_scan_run(&scan, &gpu, 1, 12 * NS_PER_S), 0);
        assert_true(scan.devices[0].has_util);
        assert_true(scan.devices[0].busiest == 0.375);
        assert_int_equal(scan.devices[0].processes, 2);
        assert_int_equal(scan.devices[0].device_bytes, 2 << 20);
        /* The shared client counts for the process that the folder lists first. */
        const struct scan_use *first = use_by(&scan, 100), *second = use_by(&scan, 200);
        assert_non_null(second);
        if (second->clients == 2)
                assert_true(second->util == 0.375 && (!first || first->clients == 0));
        else
                assert_true(first && first->util == 0.25 && first->clients == 1 &&
                            second->util == 0.125 && second->clients == 1);

        /* Counters far beyond what can pass in the time are held at all of it. */
        make_client(root, 100, 5, 7, 900000000000);
        assert_int_equal(drm_scan_run(&scan, &gpu, 1, 13 * NS_PER_S), 0);
        assert_true(scan.devices[0].busiest == 1);
        drm_scan_finish(&scan);
        char command[64];
        snprintf(command, sizeof(command), "rm -r %s", root);
        assert_int_equal(system(command), 0);
}

/* The process of a client that begins anew is not known for a scan; the GPU's sum goes on. */
static void a_client_begins_anew(void **state UNUSED)
{
        static struct drm_scan scan;
        static const struct scan_gpu gpu = {
            .pdev = "0000:00:02.0", .card = "card0", .render = "renderD128"};
        static const struct {
                unsigned long ns;
                enum state state;
                double util;
                const char *why;
        } rows[] = {
            {2000000000, STATE_BLANK, 0, "one scan is no rate"},
            {2500000000, STATE_OK, 0.5, "busy for half of a second"},
            {1, STATE_OK, 0, "the kernel lets a counter fall for a moment"},
            {2, STATE_OK, 0, "and for another"},
            {3, STATE_ERROR, 0, "a reset"},
            {250000003, STATE_OK, 0.25, "counted from there"},
        };
        char root[] = "/tmp/test_drm.XXXXXX";
        assert_non_null(mkdtemp(root));
        write_file(root, "proc/100/fd/none", "");
        assert_int_equal(drm_scan_init(&scan, root, NULL), 0);
        for (unsigned i = 0; i < ARRAY_LEN(rows); i++) {
                make_client(root, 100, 5, 7, rows[i].ns);
                make_client(root, 200, 5, 8, 125000000UL * i);
                assert_int_equal(drm_scan_run(&scan, &gpu, 1, (10 + i) * NS_PER_S), 0);
                const struct scan_use *use = use_by(&scan, 100), *other = use_by(&scan, 200);
                if (use->state != rows[i].state || use->util != rows[i].util)
                        fail_msg("%s: %g, %s", rows[i].why, use->util,
                                 state_name((enum state)use->state));
                assert_true(i == 0 || (other->state == STATE_OK && other->util == 0.125));
                assert_true(i == 0 || (scan.devices[0].has_util &&
                                       scan.devices[0].busiest == rows[i].util + 0.125));
        }
        drm_scan_finish(&scan);
        char command[64];
        snprintf(command, sizeof(command), "rm -r %s", root);
        assert_int_equal(system(command), 0);
}

/* A process that opens the GPU some time after it was first seen is found. */
static void late_openers(void **state UNUSED)
{
        static struct drm_scan scan;
        static const struct scan_gpu gpu = {
            .pdev = "0000:00:02.0", .card = "card0", .render = "renderD128"};
        char root[] = "/tmp/test_drm.XXXXXX";
        assert_non_null(mkdtemp(root));
        write_file(root, "proc/100/fd/none", "");
        assert_int_equal(drm_scan_init(&scan, root, NULL), 0);
        drm_scan_run(&scan, &gpu, 1, 10 * NS_PER_S);
        write_file(root, "proc/200/fd/none", "");
        drm_scan_run(&scan, &gpu, 1, 11 * NS_PER_S);
        assert_int_equal(scan.visited, 1); /* the new one; the old one was looked at just now */
        make_client(root, 100, 5, 7, 0);
        make_client(root, 200, 5, 8, 0);
        drm_scan_run(&scan, &gpu, 1, 12 * NS_PER_S);
        assert_int_equal(scan.devices[0].clients, 1); /* the young one */
        drm_scan_run(&scan, &gpu, 1, 16 * NS_PER_S);
        assert_int_equal(scan.devices[0].clients, 2); /* and the old one, after some seconds */
        drm_scan_finish(&scan);
        char command[64];
        snprintf(command, sizeof(command), "rm -r %s", root);
        assert_int_equal(system(command), 0);
}

static void make_link(const char *root, const char *name, const char *target)
{
        char path[4096];
        snprintf(path, sizeof(path), "%s/%s", root, name);
        assert_int_equal(symlink(target, path), 0);
}

/* Very many processes are looked through over several scans; until then nothing is claimed. */
static void first_look_is_spread(void **state UNUSED)
{
        static struct drm_scan scan;
        static const struct scan_gpu gpu = {
            .pdev = "0000:00:02.0", .card = "card0", .render = "renderD128"};
        char root[] = "/tmp/test_drm.XXXXXX";
        assert_non_null(mkdtemp(root));
        for (unsigned pid = 100; pid < 103; pid++)
                make_client(root, pid, 5, pid, 1000);
        assert_int_equal(drm_scan_init(&scan, root, NULL), 0);
        scan.first_budget_ns = 1; /* spent by the first process */
        for (unsigned i = 1; i <= 3; i++) {
                drm_scan_run(&scan, &gpu, 1, i * NS_PER_S);
                assert_int_equal(scan.devices[0].clients, i);
                assert_int_equal(scan.unseen, 3 - i);
                assert_false(scan.devices[0].has_util);
        }
        make_client(root, 102, 5, 102, 1000 + 500000000);
        drm_scan_run(&scan, &gpu, 1, 4 * NS_PER_S);
        assert_true(scan.devices[0].has_util && scan.devices[0].busiest == 0.5);
        drm_scan_finish(&scan);
        char command[64];
        snprintf(command, sizeof(command), "rm -r %s", root);
        assert_int_equal(system(command), 0);
}

static void make_gpu(const char *root, const char *driver)
{
#define GPU "sys/devices/pci0000:00/0000:00:02.0/"
        char path[64];
        write_file(root, GPU "vendor", "0x8086\n");
        write_file(root, GPU "power/runtime_status", "active\n");
        write_file(root, GPU "drm/renderD128/dev", "226:128\n");
        write_file(root, "sys/class/drm/version", "drm 1.1.0\n");
        snprintf(path, sizeof(path), "../../../bus/pci/drivers/%s", driver);
        make_link(root, GPU "driver", path);
        make_link(root, GPU "drm/renderD128/device", "../..");
        make_link(root, "sys/class/drm/renderD128",
                  "../../devices/pci0000:00/0000:00:02.0/drm/renderD128");
#undef GPU
}

/* The source as the pipeline uses it: opened, asked for a tick and for processes, closed. */
static void source_tells_of_processes(void **state UNUSED)
{
        char root[] = "/tmp/test_drm.XXXXXX";
        assert_non_null(mkdtemp(root));
        make_gpu(root, "i915");
        make_client(root, 100, 5, 7, 0);
        const struct source_ops *ops = &drm_reader;
        struct source_config config = {.poll_ns = 60 * NS_PER_S, .root = root};
        struct source *s;
        struct batch batch;
        struct err err = {0};
        struct process p[4];
        assert_int_equal(ops->open(&config, &s, &err), 0);
        make_client(root, 100, 5, 7, 900000000000);
        assert_int_equal(ops->next(s, &batch, &err), 1);
        assert_int_equal(batch.n, 1);
        assert_int_equal(batch.readings[0].values[DRM_PROCESSES].num, 1);
        assert_int_equal(ops->processes(s, p, ARRAY_LEN(p)), 1);
        assert_int_equal(p[0].pid, 100);
        assert_true(p[0].on.index == 0 && p[0].on.gi == -1);
        assert_true(p[0].sm_util.state == STATE_OK && p[0].sm_util.v == 1);
        assert_true(p[0].gpu_memory.v == 1 << 20);
        assert_int_equal(p[0].enc_util.state, STATE_NONE); /* i915 has no encoder of its own */
        /* An interrupted wait ends the stream. */
        ops->interrupt(s);
        assert_int_equal(ops->next(s, &batch, &err), 0);
        ops->close(s);
        char command[64];
        snprintf(command, sizeof(command), "rm -r %s", root);
        assert_int_equal(system(command), 0);
}

/* Work through /dev/kfd is in no engine time, so how much of the GPU it takes is not known. */
static void programs_of_rocm(void **state UNUSED)
{
        char root[] = "/tmp/test_drm.XXXXXX";
        struct source_config config = {.poll_ns = 60 * NS_PER_S, .root = root};
        struct source *s;
        struct batch batch;
        struct process p[4];
        assert_non_null(mkdtemp(root));
        make_gpu(root, "amdgpu");
        make_client(root, 100, 5, 7, 0);
        make_client(root, 200, 5, 8, 0);
        make_link(root, "proc/100/fd/9", "/dev/kfd");
        assert_int_equal(drm_reader.open(&config, &s, NULL), 0);
        assert_int_equal(drm_reader.next(s, &batch, NULL), 1);
        assert_int_equal(drm_reader.processes(s, p, ARRAY_LEN(p)), 2);
        for (size_t i = 0; i < 2; i++) {
                bool rocm = p[i].pid == 100;
                assert_int_equal(p[i].sm_util.state, rocm ? STATE_UNSUPPORTED : STATE_OK);
                assert_true(p[i].gpu_memory.v == 1 << 20);
        }
        drm_reader.close(s);
        char command[64];
        snprintf(command, sizeof(command), "rm -r %s", root);
        assert_int_equal(system(command), 0);
}

static void names(void **state UNUSED)
{
        char root[] = "/tmp/test_drm.XXXXXX";
        struct pci_name n[] = {
            {.vendor = 0x1002, .device = 0x744c, .revision = 0xc8},
            {.vendor = 0x1002, .device = 0x744c, .revision = 0x01},
            {.vendor = 0x8086, .device = 0x0001},
            {.vendor = 0x1002, .device = 0x0002},
            {.vendor = 0x1002, .device = 0x744c, .revision = 0xc8, .name = "Mine"},
        };
        assert_non_null(mkdtemp(root));
        write_file(root, "usr/share/libdrm/amdgpu.ids",
                   "1.0.0\n744C,\tC8,\tRX 7900 XTX\n744C\n744C,\n,,\n");
        write_file(root, "usr/share/hwdata/pci.ids",
                   "1002  AMD\n\t744c  Navi 31 [RX]\n\t\t1002 0001  board\n\n8086  Intel\n"
                   "\t0001  Plain []\nC 03  Display\n\t0002  not a device\n");
        pciids_fill(root, n, ARRAY_LEN(n));
        assert_string_equal(n[0].name, "RX 7900 XTX");
        assert_string_equal(n[1].name, "RX");
        assert_string_equal(n[2].name, "Plain []");
        assert_string_equal(n[3].name, "");
        assert_string_equal(n[4].name, "Mine");
        char command[64];
        snprintf(command, sizeof(command), "rm -r %s", root);
        assert_int_equal(system(command), 0);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
            cmocka_unit_test(clock_levels),
            cmocka_unit_test(client_of_amdgpu),
            cmocka_unit_test(client_of_xe),
            cmocka_unit_test(odd_clients),
            cmocka_unit_test(zero_capacity_is_one),
            cmocka_unit_test(rates),
            cmocka_unit_test(every_field_means_something),
            cmocka_unit_test(uses_of_processes),
            cmocka_unit_test(a_client_begins_anew),
            cmocka_unit_test(late_openers),
            cmocka_unit_test(first_look_is_spread),
            cmocka_unit_test(source_tells_of_processes),
            cmocka_unit_test(programs_of_rocm),
            cmocka_unit_test(names),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
