/*
 * Model servers among this user's processes: those that hold a GPU, or whose children do, and
 * listen where their command line says. Nothing is asked here, and nothing beyond this host is
 * found.
 */
#pragma once

#include "model/serving.h"
#include "read/listing.h"

struct engine_place {
        enum engine_kind kind;
        int32_t pid;
        char url[SERVING_TEXT_MAX];
};

/* root: the folder that stands for "/", open, and the listing of its processes. Returns how many
 * were found, at most max. */
size_t engines_find(int root, struct listing *listing, struct engine_place *ret, size_t max);
/* This user's process that listens on a TCP port of this host; 0 when there is none. Of several
 * that share the socket, the one that was started first. */
int32_t engines_listener(int root, struct listing *listing, uint16_t port);

#define ENGINE_FRONTS_MAX 8

/* The processes of a server: those that share its front end and those that use the GPUs. */
struct engine_family {
        int32_t pid;  /* who listens; filled by the caller */
        int32_t head; /* their first one: it, or who started it and is of the same engine */
        size_t n;     /* that hold no GPU; first the one that listens, whatever it holds */
        int32_t fronts[ENGINE_FRONTS_MAX];
};

/* Fills the rest of families with one look at all processes. */
void engines_fill_families(int root, struct listing *listing, struct engine_family *list, size_t n);

/* The parts, for tests. The port that a command line (arguments that end in NUL) says; 0 when it is
 * not one of the engine's. */
uint16_t engines_command_port(const char *command, size_t len, enum engine_kind *ret_kind,
                              const char **ret_path);
/* Walks the lines of /proc/net/tcp or tcp6: the next inode that listens on the port, 0 at the end.
 * loopback: whether it is reached through 127.0.0.1. */
uint64_t engines_next_socket(const char *text, size_t len, size_t *at, uint16_t port,
                             bool *ret_loopback);
