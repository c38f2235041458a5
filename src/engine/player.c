/* Captures that are played: when a frame is due, and how to go back. */
#include "engine/engine_state.h"

/* --- the owner's side ------------------------------------------------------------------------ */

void engine_pause(struct engine *e, bool pause)
{
        crew_lock(&e->crew);
        e->pause = pause;
        e->anchor_mono_ns = 0;
        engine_wake(e);
        crew_unlock(&e->crew);
}

/* Lock held: to a time from the beginning. */
static void request_seek(struct engine *e, int64_t position_ns)
{
        e->wish_seek = true;
        e->seek_ns = position_ns;
}

void engine_step(struct engine *e, int by)
{
        int64_t before;
        crew_lock(&e->crew);
        int64_t now = e->shown.frames[SHOWN_FRONT].frame.wall_ns;
        e->pause = true;
        if (by > 0)
                e->steps = 1;
        else if (e->status.winds && history_before(e->history, now, &before))
                request_seek(e, before - e->first_wall_ns);
        engine_wake(e);
        crew_unlock(&e->crew);
}

bool engine_seek(struct engine *e, int64_t position_ns)
{
        position_ns = MAX(position_ns, (int64_t)0);
        crew_lock(&e->crew);
        bool can = e->status.winds || (e->status.replay && position_ns > e->status.position_ns);
        if (can)
                request_seek(e, position_ns);
        engine_wake(e);
        crew_unlock(&e->crew);
        return can;
}

void engine_set_speed(struct engine *e, double speed)
{
        crew_lock(&e->crew);
        e->status.speed = speed;
        e->anchor_mono_ns = 0;
        engine_wake(e);
        crew_unlock(&e->crew);
}

/* --- the thread's side ----------------------------------------------------------------------- */

/* When a frame of a capture is due; INT64_MAX while paused. Called with the lock held. */
static int64_t due_time(struct engine *e, int64_t wall_ns)
{
        if (e->pause)
                return INT64_MAX;
        if (e->status.speed <= 0 || e->status.ticks == 0)
                return 0;
        if (e->anchor_mono_ns == 0) {
                e->anchor_mono_ns = clock_mono_ns();
                e->anchor_wall_ns = e->first_wall_ns + e->status.position_ns;
        }
        return e->anchor_mono_ns +
               (int64_t)((double)(wall_ns - e->anchor_wall_ns) / e->status.speed);
}

/* Waits for the moment of a capture's frame. False when something else is wished first. */
static bool wait_for_turn(struct engine *e, int64_t wall_ns)
{
        bool turn = false;
        crew_lock(&e->crew);
        while (!turn && !e->crew.stop && !e->wish_seek) {
                int64_t when = due_time(e, wall_ns);
                turn = e->steps > 0 || when <= clock_mono_ns();
                if (!turn)
                        crew_wait(&e->crew, when);
        }
        if (turn)
                e->steps = 0;
        crew_unlock(&e->crew);
        return turn;
}

int engine_wind(struct engine *e, struct err *err)
{
        const struct frame *frame = NULL, *next;
        crew_lock(&e->crew);
        int64_t target = e->seek_ns;
        bool back = e->begun && e->first_wall_ns + target <= e->last_wall_ns;
        e->wish_seek = false;
        e->steps = 0;
        e->anchor_mono_ns = 0;
        crew_unlock(&e->crew);
        int r = 1;
        if (back) {
                engine_close_source(e);
                r = engine_open_source(e, err);
                r = r < 0 ? r : 1;
        }
        while (r > 0 && !crew_stopping(&e->crew) && (r = engine_request_frame(e, &next, err)) > 0) {
                frame = next;
                r = engine_take_in(e, frame, err) < 0 ? err->code : 1;
                if (frame->wall_ns - e->first_wall_ns >= target)
                        break;
        }
        /* Beyond the end is the end. */
        if (r >= 0 && frame && engine_publish(e, frame, err) < 0)
                r = err->code;
        return r;
}

int engine_play(struct engine *e, struct err *err)
{
        const struct frame *frame;
        int r = engine_request_frame(e, &frame, err);
        if (r <= 0)
                return r;
        bool turn = wait_for_turn(e, frame->wall_ns);
        r = engine_take_in(e, frame, err);
        if (r == 0 && turn)
                r = engine_publish(e, frame, err);
        return r < 0 ? r : 1;
}

void engine_wait_at_end(struct engine *e)
{
        crew_lock(&e->crew);
        while (!e->crew.stop && !e->wish_seek)
                crew_wait(&e->crew, INT64_MAX);
        crew_unlock(&e->crew);
}
