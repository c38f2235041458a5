/*
 * A small monitor: one line a GPU and tick, then what this process used.
 *
 *     cc monitor.c $(pkg-config --cflags --libs assay) -o monitor
 *     ./monitor interval=0.5 ticks=10 source=capture.csv
 */
#include <assay/assay.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int fail(const struct assay_error *error)
{
        fprintf(stderr, "monitor: %s\n", error->message);
        if (error->hint[0])
                fprintf(stderr, "         %s\n", error->hint);
        return 1;
}

/* A value that is missing has a reason; it is never 0. */
static void print_value(const char *name, struct assay_value v, double scale, const char *unit)
{
        if (v.state == ASSAY_VALUE_OK || v.state == ASSAY_VALUE_STALE)
                printf("  %s %.4g%s", name, v.v * scale, unit);
        else
                printf("  %s -- (%s)", name, assay_state_name((int)v.state));
}

static void print_frame(const assay_frame *frame)
{
        size_t i;
        for (i = 0; i < assay_frame_gpus(frame); i++) {
                struct assay_verdict verdict;
                printf("tick %llu  GPU %s", (unsigned long long)assay_frame_tick(frame),
                       assay_frame_gpu_text(frame, i, "label"));
                print_value("sm", assay_frame_gpu(frame, i, assay_metric_find("sm_active")), 100,
                            "%");
                print_value("power", assay_frame_gpu(frame, i, assay_metric_find("power")), 1,
                            " W");
                if (assay_frame_verdict(frame, i, &verdict) == 0)
                        printf("  %s", verdict.evidence);
                printf("\n");
        }
        if (!assay_frame_level_missing(frame, ASSAY_LEVEL_PROCESS)) {
                printf("tick %llu  process", (unsigned long long)assay_frame_tick(frame));
                print_value("cpu",
                            assay_frame_level(frame, ASSAY_LEVEL_PROCESS, assay_figure_find("cpu")),
                            1, " cores");
                print_value(
                    "memory",
                    assay_frame_level(frame, ASSAY_LEVEL_PROCESS, assay_figure_find("memory")),
                    1 / 1048576.0, " MiB");
                printf("\n");
        }
        fflush(stdout);
}

int main(int argc, char **argv)
{
        assay_options *options = assay_options_new();
        struct assay_error error = {0};
        long ticks = 5;
        int i;
        for (i = 1; i < argc; i++) {
                char *value = strchr(argv[i], '=');
                if (value)
                        *value++ = '\0';
                if (strcmp(argv[i], "ticks") == 0)
                        ticks = value ? atol(value) : 1;
                else if (assay_options_set(options, argv[i], value, &error) < 0)
                        return fail(&error);
        }
        assay_monitor *monitor = assay_monitor_new(options);
        assay_options_free(options);
        if (assay_monitor_start(monitor, &error) < 0) {
                assay_monitor_free(monitor);
                return fail(&error);
        }
        uint64_t cursor = 0;
        while (ticks > 0 && assay_monitor_wait(monitor, cursor, 10, &error) > 0) {
                assay_frame *frame;
                if (assay_monitor_next(monitor, &cursor, &frame, &error) <= 0)
                        break;
                print_frame(frame);
                assay_frame_unref(frame);
                ticks--;
        }
        int r = assay_monitor_stop(monitor, &error);
        assay_monitor_free(monitor);
        return r < 0 ? fail(&error) : 0;
}
