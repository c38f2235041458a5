/* Which limiter holds: rules on ceilings over about a second or over a stretch. Pure, no I/O. */
#pragma once

#include "compute/power_floor.h"

/* The thresholds of all rules. Ratios of the engine's time where it says "of the engine". */
#define LIMIT_ENGINE_NONE 0.005 /* engine: as good as nothing ran */
#define LIMIT_ENGINE_LOW 0.05   /* engine: below it, launches are not what is waited for */
#define LIMIT_ENGINE_FULL 0.8   /* engine: from it, the GPU's own work is the limit */
#define LIMIT_NEAR 0.6          /* pipe, device memory, link: near full */
#define LIMIT_NEAR_HELD 0.7     /* device memory, while the SMs' clock is held down */
#define LIMIT_SOME 0.25         /* pipe, device memory, link: in use */
#define LIMIT_NOTHING 0.05      /* pipe, device memory: not in use */
#define LIMIT_SM_FULL 0.7       /* SMs of the engine: kernels fill the GPU */
#define LIMIT_CODEC 0.8         /* video or JPEG engine: as full as an engine that is */
#define LIMIT_BOTH_WAYS 0.75    /* link, in and out added up: twice what pageable copies reach */
#define LIMIT_COPIES 0.02       /* link: copies are what happens */
#define LIMIT_FILLED 0.05   /* link, of the time without kernels: half what pageable copies reach */
#define LIMIT_MANY 3        /* cores: more than a thread that launches and its helpers */
#define LIMIT_CORE 0.6      /* cores: a thread that hardly rests */
#define LIMIT_LAUNCHING 0.9 /* cores: a thread that never rests */
#define LIMIT_CHILDREN 0.5  /* cores: children or loader threads at work */
#define LIMIT_RESTS 0.1     /* cores: a thread that does nothing */
#define LIMIT_IO_WAIT 0.3   /* threads that wait for storage */
#define LIMIT_STORAGE_ANY 1e5    /* and so few that nobody waits for them */
#define LIMIT_STORAGE 200e6      /* bytes a second to and from storage that are a lot */
#define LIMIT_STORAGE_CORE 100e6 /* and so many for each core that is busy: not only read */
#define LIMIT_NETWORK 50e6       /* bytes a second over the network that are a lot */
#define LIMIT_NETWORK_CORE 250e6 /* and so many for each core that is busy: it only moves them */
#define LIMIT_UNEVEN 0.15        /* spread of the engine over ticks: bursts, not a steady load */
#define LIMIT_IDLE_S 5           /* so long nothing: the GPU is not waited for */
#define LIMIT_HELD_SHARE 0.5     /* of the time, clocks held down */
#define LIMIT_CLOCK_FULL 0.97    /* clock: as good as its maximum */

/* What the rules need to know besides ceilings. */
struct situation {
        bool touched;    /* the GPU was used or held at some time */
        bool worked;     /* sustained work has begun */
        bool before;     /* it is known that work begins later */
        bool ended;      /* the program has given the GPU back since */
        bool elsewhere;  /* another GPU was used, so the program has started */
        bool peers;      /* there are other GPUs */
        bool peers_used; /* and some of them are in use */
        double quiet_s;  /* for so long nothing has run */
        double uneven;   /* standard deviation of the engine over ticks */
        double seconds;  /* that the means are of */
        double
            link_traffic; /* of what device memory can move, what a full link brings; 0: unknown */
        enum framework framework;
        enum basis basis;
        struct power_floor floor; /* without counters: all zeros where nothing is known */
        /* Means of the host while no kernel ran; NULL where that is not known apart. */
        const struct ceilings *gaps;
};

/* margins: also find the nearest other limiter; costs some microseconds. */
struct limit limiter_decide(const struct ceilings *c, const struct situation *situation,
                            bool margins);

/* State of a GPU over time: whether it has been used, whether work has begun. */
struct first_use {
        bool touched, active_once;
        int64_t chain_ns, active_ns; /* the present chain of activity: its begin, its newest */
        int64_t touched_ns;
        int64_t worked_ns; /* when sustained work began; INT64_MAX while it has not */
};

#define FIRST_USE_START ((struct first_use){.worked_ns = INT64_MAX})
/* The longest period of bursts. Work with pauses up to half of it continues; work that continues
 * for half of it is sustained. */
#define BURST_NS ((int64_t)3000000000)

/* Whether kernels ran, data moved or a video engine worked at all. */
bool ceilings_active(const struct ceilings *c);
void first_use_add(struct first_use *p, const struct ceilings *c, int64_t now_ns);

/* Ceilings smoothed over about a second: ticks of half a second and more stand for themselves. */
struct limit_window {
        struct ceilings mean;
        float square; /* mean of the engine's square */
        bool seen;
        int64_t now_ns, quiet_ns;
        struct first_use use;
        enum framework framework; /* of the program, kept by the caller that adds */
        int64_t counted_ns;       /* when profiling counters were present last */
        bool counted;             /* they ever were */
        struct floor_learner floor;
};

/* What is known of a GPU beside its ticks. */
struct limit_from_context {
        bool elsewhere, peers, peers_used; /* as in the situation */
        bool margins;                      /* as for limiter_decide */
        const struct peak *model;          /* NULL when it is not known */
        double power_limit;                /* W; 0 when it is not known */
        double at_rest;                    /* W that were kept of this GPU; 0 when none are */
        double link;                       /* bytes a second that PCIe can move; 0 when not known */
};

/* Adds a tick and decides. */
struct limit limit_window_add(struct limit_window *w, const struct ceilings *now, int64_t now_ns,
                              const struct limit_from_context *context);
