#include "test.h"

#include "base/strbuf.h"
#include "model/host.h"
#include "present/text/host_table.h"

#include <stdio.h>
#include <string.h>

static struct host host;

static void set_level(enum level level, const char *name, const char *why)
{
        struct level_state *l = &host.levels[level];
        l->asked = true;
        l->present = why[0] == '\0';
        snprintf(l->name, sizeof(l->name), "%s", name);
        snprintf(l->why, sizeof(l->why), "%s", why);
}

/* Every figure differs, so that none can stand in another's place. */
static void make_host(void)
{
        static const struct {
                enum system_figure of;
                double v;
        } system[] = {
            {SYSTEM_CPUS_ONLINE, 64},  {SYSTEM_CPUS_AFFINITY, 32}, {SYSTEM_CPUS_QUOTA, 7.5},
            {SYSTEM_LOAD_1, 12.5},     {SYSTEM_LOAD_5, 9.25},      {SYSTEM_LOAD_15, 100},
            {SYSTEM_USER, 0.41},       {SYSTEM_NICE, 0.02},        {SYSTEM_KERNEL, 0.09},
            {SYSTEM_IOWAIT, 0.03},     {SYSTEM_STEAL, 0.01},       {SYSTEM_IDLE, 0.44},
            {SYSTEM_BUSY_CORES, 29},   {SYSTEM_CPU_MAX, 0.97},     {SYSTEM_MEM_USED, 3e11},
            {SYSTEM_MEM_TOTAL, 2e12},  {SYSTEM_SWAP_USED, 5e8},    {SYSTEM_SWAP_TOTAL, 8e9},
            {SYSTEM_PSI_CPU, 0.05},    {SYSTEM_PSI_MEMORY, 0.06},  {SYSTEM_PSI_IO, 0.31},
            {SYSTEM_NET_RX, 1.5e8},    {SYSTEM_NET_TX, 999},       {SYSTEM_CPU_POWER, 412},
            {SYSTEM_NODE_POWER, 3120},
        };
        static const struct {
                enum level level;
                enum figure of;
                double v;
        } levels[] = {
            {LEVEL_SYSTEM, FIGURE_CPU, 27.125},      {LEVEL_SYSTEM, FIGURE_CPU_SHARE, 0.42},
            {LEVEL_SYSTEM, FIGURE_READ, 2.2e9},      {LEVEL_SYSTEM, FIGURE_WRITE, 3.3e6},
            {LEVEL_PROCESS, FIGURE_CPU, 8.06},       {LEVEL_PROCESS, FIGURE_CPU_SHARE, 0.25},
            {LEVEL_PROCESS, FIGURE_MEMORY, 1e10},    {LEVEL_PROCESS, FIGURE_MEMORY_LIMIT, 2e10},
            {LEVEL_PROCESS, FIGURE_MEMORY_BOUND, 1}, {LEVEL_PROCESS, FIGURE_PSS, 9e9},
            {LEVEL_PROCESS, FIGURE_READ, 1.25e6},    {LEVEL_PROCESS, FIGURE_WRITE, 640},
            {LEVEL_PROCESS, FIGURE_PROCESSES, 17},   {LEVEL_PROCESS, FIGURE_THREADS, 203},
        };
        memset(&host, 0, sizeof(host));
        for (size_t i = 0; i < ARRAY_LEN(system); i++)
                host.system[system[i].of] = value_ok(system[i].v);
        for (size_t i = 0; i < ARRAY_LEN(levels); i++)
                host.levels[levels[i].level].f[levels[i].of] = value_ok(levels[i].v);
        host.levels[LEVEL_PROCESS].f[FIGURE_PSS].age_ms = 3900;
        set_level(LEVEL_PROCESS, "4242 (a name that is too long, python)", "");
        set_level(LEVEL_SYSTEM, "node7", "");
        set_level(LEVEL_SLURM, "", "not in a job");
        host.n_gpus = 3;
        for (size_t i = 0; i < host.n_gpus; i++)
                snprintf(host.gpus[i], sizeof(host.gpus[i]), "%zu", i);
        for (size_t i = 0; i < host.n_gpus; i += 2) {
                struct value *e = host.evidence[i].e;
                e[EVIDENCE_HOLDERS] = value_ok(1 + (double)i);
                e[EVIDENCE_CPU_MAIN] = value_ok(0.875);
                e[EVIDENCE_CPU_THREAD] = value_ok(0.5);
                e[EVIDENCE_CPU_CHILDREN] = value_ok(7.25);
                e[EVIDENCE_CPUS] = value_ok(8);
                e[EVIDENCE_IO_WAIT] = value_ok(2);
                e[EVIDENCE_READ] = value_ok(2.1e8);
                e[EVIDENCE_WRITE] = value_ok(4e3);
                e[EVIDENCE_FRAMEWORK] = value_ok(FRAMEWORK_TORCH);
        }
        host.evidence[2].e[EVIDENCE_FRAMEWORK] = value_ok(FRAMEWORK_COUNT);
}

static void assert_table(unsigned width, const char *expected)
{
        struct strbuf out = {0};
        host_table_write(&host, width, &out);
        assert_string_equal(strbuf_str(&out), expected);
        strbuf_finish(&out);
}

static void all_figures(void **state UNUSED)
{
        make_host();
        assert_table(
            200,
            "host node7  64 CPUs, 32 by affinity, 7.5 by quota  load 12.50 9.25 100.00\n"
            "  cpu       user 41%  nice 2%  system 9%  iowait 3%  steal 1%  idle 44%  busy cores "
            "29, most 97%\n"
            "  memory    279G of 1.8T  swap 477M of 7.5G\n"
            "  pressure  cpu 5%  memory 6%  io 31%\n"
            "  disk      read 2.2GB/s  write 3.3MB/s    network  in 150MB/s  out 999B/s\n"
            "  power     processors 412 W  whole machine 3120 W\n"
            "\n"
            "Level     Of                        Cores   CPU   Memory/limit    PSS (age) Read B/s "
            "Write B/s  Procs Threads\n"
            "process   hat is too long, python)   8.06   25%    ≤9.3G/18.6G    8.4G (3s)     1.2M  "
            "     640     17     203\n"
            "system    node7                     27.12   42%          --/--           --     2.2G  "
            "    3.3M     --      --\n"
            "slurm     --  not in a job\n"
            "\n"
            "For GPU    Held by  Cores Thread Children of CPUs I/O wait Read B/s Write B/s With\n"
            "0                1   0.88    50%     7.25       8        2     210M      4.0k torch\n"
            "2                3   0.88    50%     7.25       8        2     210M      4.0k --\n");
}

/* What matters least goes first where there is no room; the rest stays in its place. */
static void narrow(void **state UNUSED)
{
        static const struct {
                unsigned width;
                const char *head;
        } cases[] = {
            {109, "Level     Of                        Cores   CPU   Memory/limit    PSS (age) "
                  "Read B/s Write B/s  Procs Threads"},
            {108, "Level     Of                        Cores   CPU   Memory/limit Read B/s Write "
                  "B/s  Procs Threads"},
            {96, "Level     Of                        Cores   CPU   Memory/limit Read B/s Write "
                 "B/s  Procs Threads"},
            {95, "Level     Of                        Cores   CPU   Memory/limit Read B/s Write "
                 "B/s  Procs"},
            {88, "Level     Of                        Cores   CPU   Memory/limit Read B/s Write "
                 "B/s  Procs"},
            {87, "Level     Of                        Cores   CPU   Memory/limit Read B/s  Procs"},
            {78, "Level     Of                        Cores   CPU   Memory/limit Read B/s  Procs"},
            {77, "Level     Of                        Cores   CPU   Memory/limit  Procs"},
            {69, "Level     Of                        Cores   CPU   Memory/limit  Procs"},
            {68, "Level     Of                        Cores   CPU   Memory/limit"},
            {62, "Level     Of                        Cores   CPU   Memory/limit"},
            {61, "Level     Of                        Cores   Memory/limit"},
            {20, "Level     Of                        Cores   Memory/limit"},
        };
        make_host();
        for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
                struct strbuf out = {0};
                host_table_write(&host, cases[i].width, &out);
                char *head = strstr(strbuf_str(&out), "Level");
                assert_non_null(head);
                head[strcspn(head, "\n")] = '\0';
                assert_string_equal(head, cases[i].head);
                strbuf_finish(&out);
        }
}

/* What is not known has no line, or dashes; limits that bind nothing are not named. */
static void little_is_known(void **state UNUSED)
{
        make_host();
        host.system[SYSTEM_CPUS_AFFINITY] = value_ok(64);
        host.system[SYSTEM_CPUS_QUOTA] = value_missing(STATE_NONE);
        host.system[SYSTEM_CPU_POWER] = value_missing(STATE_DENIED);
        host.levels[LEVEL_PROCESS].f[FIGURE_MEMORY_BOUND] = value_ok(0);
        host.levels[LEVEL_PROCESS].f[FIGURE_PSS] = value_missing(STATE_NONE);
        host.levels[LEVEL_PROCESS].f[FIGURE_MEMORY_LIMIT] = value_missing(STATE_NONE);
        host.n_gpus = 0;
        assert_table(200,
                     "host node7  64 CPUs  load 12.50 9.25 100.00\n"
                     "  cpu       user 41%  nice 2%  system 9%  iowait 3%  steal 1%  idle 44%  "
                     "busy cores 29, most 97%\n"
                     "  memory    279G of 1.8T  swap 477M of 7.5G\n"
                     "  pressure  cpu 5%  memory 6%  io 31%\n"
                     "  disk      read 2.2GB/s  write 3.3MB/s    network  in 150MB/s  out 999B/s\n"
                     "  power     whole machine 3120 W\n"
                     "\n"
                     "Level     Of                        Cores   CPU   Memory/limit Read B/s "
                     "Write B/s  Procs Threads\n"
                     "process   hat is too long, python)   8.06   25%        9.3G/--     1.2M      "
                     " 640     17     203\n"
                     "system    node7                     27.12   42%          --/--     2.2G      "
                     "3.3M     --      --\n"
                     "slurm     --  not in a job\n");
        host.system[SYSTEM_NODE_POWER] = value_missing(STATE_NONE);
        host.levels[LEVEL_SYSTEM].present = host.levels[LEVEL_SYSTEM].asked = false;
        host.levels[LEVEL_SLURM].asked = false;
        host.levels[LEVEL_PROCESS].f[FIGURE_PSS] =
            (struct value){.v = 9e9, .state = STATE_OK, .age_ms = 999};
        assert_table(
            80, "Level     Of                        Cores   CPU   Memory/limit Read B/s  Procs\n"
                "process   hat is too long, python)   8.06   25%        9.3G/--     1.2M     17\n");
}

int main(void)
{
        const struct CMUnitTest tests[] = {
            cmocka_unit_test(all_figures),
            cmocka_unit_test(narrow),
            cmocka_unit_test(little_is_known),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
