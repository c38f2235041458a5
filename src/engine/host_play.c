#include "engine/host_play.h"

#include "base/clock.h"
#include "session/session.h"

#include <string.h>

struct host_play {
        char *path;
        struct session_reader *reader;
        const struct host *next; /* read, and still to come; NULL at the end */
        int64_t at_ns;           /* of now; INT64_MIN before the first */
        struct host now;
};

static bool rewind_to_start(struct host_play *h)
{
        session_reader_close(h->reader);
        h->reader = NULL;
        h->next = NULL;
        h->at_ns = INT64_MIN;
        if (session_open(h->path, &h->reader, NULL) < 0)
                return false;
        return session_next_host(h->reader, &h->next, NULL) > 0 || (h->next = NULL, true);
}

struct host_play *host_play_open(const char *path)
{
        struct host_play *h = session_is_one(path) ? calloc(1, sizeof(*h)) : NULL;
        if (!h)
                return NULL;
        h->path = strdup(path);
        if (!h->path || !rewind_to_start(h)) {
                host_play_close(h);
                return NULL;
        }
        return h;
}

const struct host *host_play_next(struct host_play *h, int64_t wall_ns)
{
        if (wall_ns < h->at_ns && !rewind_to_start(h))
                return NULL;
        if (!h->next || h->next->wall_ns > wall_ns)
                return NULL;
        h->at_ns = h->next->wall_ns;
        h->now = *h->next;
        if (session_next_host(h->reader, &h->next, NULL) <= 0)
                h->next = NULL;
        return &h->now;
}

const struct host *host_play_at(struct host_play *h, int64_t wall_ns)
{
        while (host_play_next(h, wall_ns))
                ;
        return h->at_ns != INT64_MIN && host_is_of(&h->now, wall_ns) ? &h->now : NULL;
}

void host_play_close(struct host_play *h)
{
        if (!h)
                return;
        session_reader_close(h->reader);
        free(h->path);
        free(h);
}
