/*
 * What is known of the GPUs, as the text that Prometheus reads: dcgm-exporter's names in one
 * dialect or both, and families of our own that are exact at any scrape interval. docs/SERVE.md has
 * the list. A value that is missing has no line.
 */
#pragma once

#include "base/err.h"
#include "base/strbuf.h"
#include "model/collected.h"
#include "model/dump.h"
#include "model/frame.h"
#include "model/host.h"
#include "model/integral.h"
#include "model/machine.h"
#include "model/owner.h"

enum exposition_dialect { DCGM_CLASSIC, DCGM_NEW, DCGM_DIALECTS };

#define EXPOSITION_CHOSEN_MAX 128
#define EXPOSITION_HELP_MAX 256

enum family_type { FAMILY_GAUGE, FAMILY_COUNTER };

/* One of dcgm-exporter's families that is written, with what a collectors file says of it. */
struct chosen_family {
        uint16_t at; /* in the table */
        enum exposition_dialect dialect;
        enum family_type type;
        char help[EXPOSITION_HELP_MAX];
};

struct exposition_options {
        struct chosen_family chosen[EXPOSITION_CHOSEN_MAX];
        size_t n_chosen;
        bool own;          /* our own families */
        unsigned also;     /* sets of other exporters' names, see exposition_also */
        bool owner_labels; /* who holds the GPU, on dcgm-exporter's series too */
        bool xid_window;   /* a collectors file asks how many XIDs there were in the last minutes */
        bool no_hostname;
        bool serial_label, vbios_label; /* a collectors file asks for the board's own */
        char hostname[ENTITY_TEXT_MAX]; /* of this machine, and where the source reports none */
        char own_host[ENTITY_TEXT_MAX]; /* what sources call this machine: hostname stands for it */
        const char *version;
};

struct exposed_gpu {
        const struct row *row;
        const struct integrals *in;
        bool up;                       /* its values are of now */
        const struct xid_events *xids; /* of the last minutes; NULL: nobody keeps them */
};

enum tick_result { TICK_ON_TIME, TICK_LATE, TICK_MISSED, TICK_RESULTS };

enum push_result { PUSH_SENT, PUSH_REFUSED, PUSH_DROPPED, PUSH_RESULTS };

/* How pushing goes. */
struct exposed_push {
        double batches[PUSH_RESULTS];
        double waiting, waiting_bytes;
};

/* About the program itself. */
struct exposed_self {
        const char *source; /* "nvml"; "" while there is none */
        bool source_up;
        double ticks[TICK_RESULTS];
        bool serves;                    /* the next two lines are known */
        double scrapes, scrape_seconds; /* scrapes answered, time spent on their text */
        double streams, connections;    /* open now */
        double rss_bytes, cpu_s, start_s;
        bool pushes;
        struct exposed_push push;
        const struct dump_status *dump; /* of the flight recorder; NULL for none */
        int64_t created_ns;             /* wall clock: when the program's own counters were 0 */
};

struct exposition_input {
        const struct exposed_gpu *gpus;
        size_t n;
        const struct served *served; /* model servers */
        size_t n_served;
        const struct owner *owners;
        size_t n_owners;    /* who hold a GPU now */
        size_t n_reported;  /* with those that released one a while ago, which come last */
        bool several_hosts; /* the index of a GPU says which only together with its host */
        const struct collected *collected; /* numbers of the user's own */
        size_t n_collected;
        struct machine_use machine;
        const struct host *host; /* NULL where it is not read */
        struct exposed_self self;
};

/* All families of the table that are shown unasked, of these dialects (bits), in their order. */
void exposition_choose_default(struct exposition_options *o, unsigned dialects);
/*
 * Reads dcgm-exporter's collectors file: rows "FIELD, type, help", # comments. Replaces what was
 * chosen. Fields that are not known are named in notices, a line each. 0 or ERR_DATA with err.
 */
int exposition_choose(struct exposition_options *o, unsigned dialects, char *text, size_t len,
                      struct strbuf *notices, struct err *err);
/* Reads a list of other exporters: "rocm,all-smi,node". 0, or ERR_USAGE with err. */
int exposition_also(struct exposition_options *o, const char *list, struct err *err);
void exposition_write(const struct exposition_options *o, const struct exposition_input *in,
                      bool openmetrics, struct strbuf *out);
