/*
 * Numbers of the user's own, from commands and sockets, read on a thread of its own: neither the
 * GPUs nor the host wait for them. A command may print one line and end, and is then started again
 * at the next beat, or continue and print a line whenever it has a number.
 */
#pragma once

#include "read/collect/line.h"

struct collector_config {
        struct collect_list list; /* taken over, also when opening fails */
        int64_t interval_ns;      /* between starts of a command, and between the values kept */
        /* On the collector's thread. why: what is wrong with a collector, reported once each. */
        void (*on_value)(void *arg, const struct collected *value);
        void (*on_trouble)(void *arg, const char *name, const char *why);
        void *arg;
};

struct collector;

int collector_open(const struct collector_config *config, struct collector **ret, struct err *err);
/* Ends the commands, and waits for the thread. NULL is allowed. */
void collector_close(struct collector *c);
