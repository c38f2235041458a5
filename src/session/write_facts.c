/* What is known about the run as a whole. */
#include "session/state.h"

#include <errno.h>
#include <stdio.h>

static struct fact *fact_for(struct session *s, const char *key)
{
        for (size_t i = 0; i < s->n_facts; i++) {
                if (strcmp(s->facts[i].key, key) != 0)
                        continue;
                s->facts[i].written = false;
                return &s->facts[i];
        }
        if (s->n_facts == FACTS_MAX)
                return NULL;
        struct fact *f = &s->facts[s->n_facts++];
        *f = (struct fact){0};
        snprintf(f->key, sizeof(f->key), "%s", key);
        return f;
}

int session_set_text(struct session *s, const char *key, const char *value)
{
        char *copy = strdup(value);
        if (!copy)
                return -ENOMEM;
        pthread_mutex_lock(&s->lock);
        struct fact *f = fact_for(s, key);
        if (f) {
                free(f->text);
                f->text = copy;
        } else {
                free(copy);
        }
        pthread_mutex_unlock(&s->lock);
        return f ? 0 : -ENOMEM;
}

int session_set_number(struct session *s, const char *key, double value)
{
        pthread_mutex_lock(&s->lock);
        struct fact *f = fact_for(s, key);
        if (f) {
                f->number = value;
                f->is_whole = false;
        }
        pthread_mutex_unlock(&s->lock);
        return f ? 0 : -ENOMEM;
}

int session_set_time(struct session *s, const char *key, int64_t ns)
{
        pthread_mutex_lock(&s->lock);
        struct fact *f = fact_for(s, key);
        if (f) {
                f->whole = ns;
                f->is_whole = true;
        }
        pthread_mutex_unlock(&s->lock);
        return f ? 0 : -ENOMEM;
}

void session_set_counts(struct session *s, const struct session_counts *counts)
{
        pthread_mutex_lock(&s->lock);
        s->counts = *counts;
        pthread_mutex_unlock(&s->lock);
}

static int write_fact(struct session *s, const struct fact *f)
{
        struct statement q =
            db_prepare(&s->db, DB_PUT_FACT, "INSERT OR REPLACE INTO manifest VALUES(?,?)");
        db_bind_text(&q, f->key);
        if (f->text)
                db_bind_text(&q, f->text);
        else if (f->is_whole)
                db_bind_int(&q, f->whole);
        else
                db_bind_number(&q, f->number);
        return db_run(&q);
}

int facts_write(struct session *s)
{
        const struct fact counts[] = {
            {.key = "ticks_asked", .number = (double)s->counts.asked},
            {.key = "ticks_taken", .number = (double)s->counts.taken},
            {.key = "ticks_late", .number = (double)s->counts.late},
            {.key = "ticks_missed", .number = (double)s->counts.missed},
            {.key = "ticks_dropped", .number = (double)(s->counts.dropped + s->open.dropped)}};
        int r = 0;
        for (size_t i = 0; r == 0 && i < ARRAY_LEN(counts); i++)
                r = write_fact(s, &counts[i]);
        for (size_t i = 0; r == 0 && i < s->n_facts; i++) {
                if (!s->facts[i].written)
                        r = write_fact(s, &s->facts[i]);
                s->facts[i].written = true;
        }
        /* What the monotonic clock said at the start: marks and the end are reported by it too. */
        if (r == 0 && !s->mono_written && s->start_mono_ns != INT64_MIN) {
                struct fact mono = {
                    .key = "start_mono_ns", .whole = s->start_mono_ns, .is_whole = true};
                s->mono_written = true;
                r = write_fact(s, &mono);
        }
        if (r < 0 || s->start_written || s->start_wall_ns == SESSION_START_FIRST)
                return r;
        struct fact start = {.key = "start_ns", .whole = s->start_wall_ns, .is_whole = true};
        s->start_written = true;
        return write_fact(s, &start);
}

void facts_drop_written(struct session *s)
{
        s->start_written = s->mono_written = false;
        for (size_t i = 0; i < s->n_facts; i++)
                s->facts[i].written = false;
}

void facts_free(struct session *s)
{
        for (size_t i = 0; i < s->n_facts; i++)
                free(s->facts[i].text);
}
