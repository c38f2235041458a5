#include "scenario.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void die(const char *what, const char *line)
{
        fprintf(stderr, "fake NVML: %s: %s\n", what, line);
        abort();
}

struct block {
        struct block *next;
        max_align_t data[];
};

static void *make(struct scenario *s, size_t size)
{
        struct block *b = calloc(1, sizeof(*b) + size);
        if (!b)
                die("out of memory", "");
        b->next = s->blocks;
        s->blocks = b;
        return b->data;
}

static char *copy(struct scenario *s, const char *text)
{
        size_t size = strlen(text) + 1;
        return memcpy(make(s, size), text, size);
}

void scenario_free(struct scenario *s)
{
        while (s->blocks) {
                struct block *b = s->blocks;
                s->blocks = b->next;
                free(b);
        }
        *s = (struct scenario){0};
}

static struct node *add_node(struct scenario *s, struct node *parent, int index, int gi, int ci)
{
        struct node *n = make(s, sizeof(*n));
        *n = (struct node){.parent = parent, .index = index, .gi = gi, .ci = ci};
        return n;
}

static void add_slice(struct scenario *s, struct node *gpu, int gi, int ci)
{
        struct node **end = &gpu->slices;
        while (*end)
                end = &(*end)->next;
        *end = add_node(s, gpu, gpu->index, gi, ci);
        gpu->n_slices++;
}

/* "copy" shares the answers; lines that follow come before them in the list. */
static struct node *open_section(struct scenario *s, const char *line)
{
        int a, b;
        struct node *gpu = s->n > 0 ? s->gpu[s->n - 1] : NULL;
        if (gpu && sscanf(line, "[mig %d %d]", &a, &b) == 2) {
                add_slice(s, gpu, a, b);
                struct node *last = gpu->slices;
                while (last->next)
                        last = last->next;
                return last;
        }
        if (strncmp(line, "[gpu", 4) != 0 || s->n == GPUS_MAX)
                die("not a section", line);
        s->gpu[s->n] = add_node(s, NULL, (int)s->n, -1, -1);
        if (sscanf(line, "[gpu copy %d]", &a) == 1 && a < (int)s->n)
                *s->gpu[s->n] = (struct node){.answers = s->gpu[a]->answers,
                                              .any_call = s->gpu[a]->any_call,
                                              .index = (int)s->n,
                                              .gi = -1,
                                              .ci = -1};
        return s->gpu[s->n++];
}

static uint32_t hash_of(const char *s)
{
        uint32_t h = 2166136261u;
        while (*s)
                h = (h ^ (unsigned char)*s++) * 16777619u;
        return h;
}

static void read_value(struct scenario *s, struct answer *a, char *value)
{
        char *delay = strstr(value, " delay ");
        if (delay) {
                a->delay_ms = atof(delay + 7);
                *delay = '\0';
        }
        a->hang = strcmp(value, "hang") == 0;
        a->none = strcmp(value, "-") == 0;
        if (strncmp(value, "crash ", 6) == 0)
                a->crash = value[6];
        char *end;
        a->rc = (int)strtol(value, &end, 10);
        while (*end == ' ')
                end++;
        a->text = copy(s, end);
}

static void add_answer(struct scenario *s, struct node *node, char *line)
{
        struct answer *a = make(s, sizeof(*a));
        if (line[0] == '@')
                a->from_s = strtod(line + 1, &line);
        while (*line == ' ')
                line++;
        char *equals = strstr(line, " = ");
        if (!equals)
                die("no answer", line);
        *equals = '\0';
        a->name = copy(s, line);
        a->hash = hash_of(line);
        read_value(s, a, equals + 3);
        node->any_call |= strcmp(a->name, "*") == 0;
        a->next = node->answers;
        node->answers = a;
}

static void add_line(struct scenario *s, struct node **section, char *line)
{
        line[strcspn(line, "\r\n")] = '\0';
        while (*line == ' ')
                line++;
        if (line[0] == '\0' || line[0] == '#')
                return;
        if (line[0] == '[') {
                *section = open_section(s, line);
                return;
        }
        if (strncmp(line, "missing ", 8) == 0) {
                char answer[200];
                snprintf(answer, sizeof(answer), "%.150s = 13", line + 8);
                add_answer(s, &s->system, answer);
                return;
        }
        add_answer(s, *section, line);
}

void scenario_load(struct scenario *s, const char *path)
{
        char line[8192];
        struct node *section = &s->system;
        FILE *f = path ? fopen(path, "r") : NULL;
        if (!f)
                die("cannot read the scenario; set FAKE_NVML", path ? path : "");
        while (fgets(line, sizeof(line), f))
                add_line(s, &section, line);
        fclose(f);
}

static const struct answer *latest(const struct node *node, const char *name, double now_s)
{
        uint32_t hash = hash_of(name);
        for (const struct answer *a = node->answers; a; a = a->next) {
                if (a->hash == hash && a->from_s <= now_s && strcmp(a->name, name) == 0)
                        return a->none ? NULL : a;
        }
        return NULL;
}

const struct answer *scenario_find(const struct node *node, const char *name, double now_s)
{
        const struct answer *a = NULL;
        if (node->parent && node->parent->any_call)
                a = latest(node->parent, "*", now_s);
        if (!a && node->any_call)
                a = latest(node, "*", now_s);
        return a ? a : latest(node, name, now_s);
}

int scenario_numbers(const struct answer *a, double ret[NUMBERS_MAX])
{
        int n = 0;
        const char *s = a->text;
        while (n < NUMBERS_MAX) {
                char *end;
                ret[n] = strtod(s, &end);
                if (end == s)
                        break;
                n++;
                s = end + (*end == ':');
        }
        return n;
}
