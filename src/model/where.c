#include "model/where.h"

#include "base/attr.h"

#include <stdio.h>
#include <string.h>

static const struct where_rule table[] = {
#define WHERE(limiter, who, doing, name, words)                                                    \
        {LIMITER_##limiter, WHERE_##who, WHERE_##doing, name, words, false},
#define INSTEAD(limiter, who, doing, name, words)                                                  \
        {LIMITER_##limiter, WHERE_##who, WHERE_##doing, name, words, true},
#include "model/where.def"
};

const struct where_rule *where_rule_of_threads(void)
{
        static const struct where_rule threads = {
            LIMITER_UNKNOWN,           WHERE_HOLDERS, WHERE_THREADS, "threads",
            "of its threads' time at", false};
        return &threads;
}

size_t where_rules(enum limiter limiter, const struct where_rule **ret)
{
        size_t n = 0;
        for (size_t i = 0; i < ARRAY_LEN(table) && n < WHERE_RULES_MAX; i++) {
                if (table[i].limiter == limiter)
                        ret[n++] = &table[i];
        }
        return n;
}

/* A long path is known by its end. */
void where_fill_line(const struct stack_table *names, uint32_t frame, struct code_line *ret)
{
        const struct stack_frame *f = stack_frame(names, frame);
        const char *file = stack_text(names, f->file);
        size_t n = strlen(file);
        *ret = (struct code_line){.line = f->line, .whose = f->whose};
        if (frame == STACK_FRAME_NONE)
                return;
        snprintf(ret->file, sizeof(ret->file), "%s",
                 n < sizeof(ret->file) ? file : file + n - sizeof(ret->file) + 1);
        snprintf(ret->function, sizeof(ret->function), "%s", stack_text(names, f->function));
}

/* Behind the last "/pythonX.Y/" of a path; NULL without one. */
static const char *after_python(const char *file)
{
        const char *found = NULL;
        for (const char *s = file; (s = strstr(s, "/python")); s++) {
                const char *digits = s + strlen("/python");
                size_t n = strspn(digits, "0123456789.t");
                if (n > 0 && digits[n] == '/')
                        found = digits + n + 1;
        }
        return found;
}

static const char *last_part(const char *file)
{
        const char *slash = strrchr(file, '/');
        return slash && slash[1] ? slash + 1 : file;
}

const char *where_short_file(const char *path, uint32_t whose)
{
        static const char *const folders[] = {"/site-packages/", "/dist-packages/"};
        if (whose == STACK_USER)
                return last_part(path);
        for (size_t i = 0; i < ARRAY_LEN(folders); i++) {
                const char *at = strstr(path, folders[i]);
                if (at)
                        return at + strlen(folders[i]);
        }
        const char *file = after_python(path);
        return file ? file : last_part(path);
}
