/*
 * A pipeline on a thread of its own. The user of a feed never waits for the source: it takes the
 * newest frame there is, and sees how old it is. A capture can be paused, stepped and wound.
 */
#pragma once

#include "engine/pipeline.h"
#include "model/trend.h"

enum feed_state {
        FEED_STARTING, /* no frame yet */
        FEED_RUNNING,
        FEED_PAUSED,
        FEED_ENDED,  /* the capture is at its end; winding back goes on */
        FEED_FAILED, /* err tells why; a live source is tried again by and by */
};

struct feed_config {
        struct pipeline_config pipeline; /* source.speed is not used: the feed keeps time */
        double speed;                    /* of a capture; 0 is as fast as it is read */
        int64_t start_ns;                /* begin that long after a capture's beginning */
        size_t history;                  /* samples kept */
};

struct feed_status {
        enum feed_state state;
        uint64_t ticks;      /* frames published */
        int64_t age_ns;      /* since the newest was, or since the start */
        int64_t busy_ns;     /* how long the source has been asked; 0 when it is not */
        int64_t interval_ns; /* between frames: the poll, or the capture's own spacing */
        double speed;
        bool replay;         /* a capture */
        bool winds;          /* a capture that can be read again from its beginning */
        int64_t position_ns; /* of the newest frame, from the beginning */
        int64_t duration_ns; /* 0 until the end was seen */
        struct source_trouble trouble;
        struct err err;
};

struct feed;

/* Starts the thread, which opens the source: errors of the source come by feed_status. */
int feed_open(const struct feed_config *config, struct feed **ret, struct err *err);
/* Returns at once; a thread that hangs in its source is left behind with what it holds. */
void feed_close(struct feed *f);
/* Readable when there is news, until feed_take. */
int feed_fd(const struct feed *f);
/* The newest frame, valid until the next call; NULL while there is none. */
const struct frame *feed_take(struct feed *f);
void feed_status(struct feed *f, struct feed_status *ret);
/* Lives as long as the feed. */
struct trends feed_trends(struct feed *f);

/* A paused live source is still read, so that its history has no hole; frames are held back. */
void feed_pause(struct feed *f, bool pause);
/* Pauses, and moves by one sample: 1 or -1. Only captures go back. */
void feed_step(struct feed *f, int by);
/* To the first frame at or after a time from the beginning. False when the source cannot. */
bool feed_seek(struct feed *f, int64_t position_ns);
void feed_set_speed(struct feed *f, double speed);
/* What the host does, for the limiter of the frames to come; the newest counts. */
void feed_see_host(struct feed *f, const struct host *host);
/* Frames tell who uses the GPUs from now on, or do not: it costs something. */
void feed_want_processes(struct feed *f, bool want);
/* Opens a live source anew with another interval, which its floor may raise. */
void feed_set_interval(struct feed *f, int64_t ns);
