#include "entity/select.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define INDEX_MAX 65535

/* A number of at most five digits; how many bytes it took, 0 for none. */
static size_t read_index(const char *s, size_t n, int32_t *ret)
{
        size_t i = 0;
        int32_t v = 0;
        for (; i < n && i < 5 && isdigit((unsigned char)s[i]); i++)
                v = v * 10 + (s[i] - '0');
        if (i == 0 || (i < n && isdigit((unsigned char)s[i])) || v > INDEX_MAX)
                return 0;
        *ret = v;
        return i;
}

/* "3" or "0-3" */
static bool read_span(const char *s, size_t n, struct select_token *t)
{
        size_t i = read_index(s, n, &t->lo);
        t->kind = SELECT_INDEX;
        t->hi = t->lo;
        if (i == 0)
                return false;
        if (i == n)
                return true;
        if (s[i] != '-')
                return false;
        size_t k = read_index(s + i + 1, n - i - 1, &t->hi);
        return k > 0 && i + 1 + k == n && t->hi >= t->lo;
}

/* "1/7" or "1/7/0" */
static bool read_slice(const char *s, size_t n, struct select_token *t)
{
        size_t i = read_index(s, n, &t->lo);
        if (i == 0 || i >= n || s[i] != '/')
                return false;
        size_t k = read_index(s + i + 1, n - i - 1, &t->gi);
        if (k == 0)
                return false;
        t->kind = SELECT_SLICE;
        t->hi = t->lo;
        t->ci = -1;
        i += 1 + k;
        if (i == n)
                return true;
        k = s[i] == '/' ? read_index(s + i + 1, n - i - 1, &t->ci) : 0;
        return k > 0 && i + 1 + k == n;
}

/* "00000000:18:00.0", "0000:18:00.0" or "18:00.0": kept from the bus on, in lower case. */
static bool read_pci(const char *s, size_t n, struct select_token *t)
{
        if (n < 7 || n > 16 || s[n - 2] != '.' || s[n - 5] != ':')
                return false;
        for (size_t i = 0; i < n; i++) {
                if (!isxdigit((unsigned char)s[i]) && s[i] != ':' && s[i] != '.')
                        return false;
        }
        t->kind = SELECT_PCI;
        snprintf(t->text, sizeof(t->text), "%.*s", (int)7, s + n - 7);
        return true;
}

/* "GPU-I 7" or "GPU-CI 7", as captures of dcgmi have them */
static bool read_flat(const char *s, size_t n, struct select_token *t)
{
        struct entity_key key;
        if (!entity_read_flat(s, n, &key))
                return false;
        t->kind = SELECT_FLAT;
        t->lo = t->hi = key.flat;
        t->ci = key.kind == ENTITY_COMPUTE_INSTANCE ? 0 : -1;
        return true;
}

static bool read_uuid(const char *s, size_t n, struct select_token *t)
{
        bool uuid = (n > 4 && (strncmp(s, "GPU-", 4) == 0 || strncmp(s, "MIG-", 4) == 0));
        if (!uuid || n >= sizeof(t->text))
                return false;
        t->kind = SELECT_UUID;
        memcpy(t->text, s, n);
        t->text[n] = '\0';
        return true;
}

/* "gpu2", "gpu[0-3]", "node[0-3]": a name before a number or a bracket. */
static bool read_named(const char *s, size_t n, struct select_token *t)
{
        size_t i = 0;
        while (i < n && isalpha((unsigned char)s[i]))
                i++;
        if (i == 0 || i == n)
                return false;
        if (s[i] == '[')
                return s[n - 1] == ']' && n - i > 2 && read_span(s + i + 1, n - i - 2, t);
        return strncasecmp(s, "gpu", 3) == 0 && i == 3 && read_span(s + i, n - i, t);
}

/* Level Zero's "0.1", "0.1.2": a part of device 0 is shown as device 0. */
static bool read_part(const char *s, size_t n, struct select_token *t)
{
        int32_t part;
        size_t i = read_index(s, n, &t->lo), k = i;
        t->kind = SELECT_INDEX;
        t->hi = t->lo;
        for (; k > 0 && i < n && s[i] == '.'; i += 1 + k)
                k = read_index(s + i + 1, n - i - 1, &part);
        return k > 0 && i == n;
}

static bool read_token(const char *s, size_t n, enum vendor vendor, struct select_token *t)
{
        *t = (struct select_token){.gi = -1, .ci = -1};
        return read_span(s, n, t) || read_slice(s, n, t) || read_flat(s, n, t) ||
               read_uuid(s, n, t) || read_pci(s, n, t) || read_named(s, n, t) ||
               (vendor == VENDOR_INTEL && read_part(s, n, t));
}

static bool is_word(const char *s, size_t n, const char *word)
{
        return strlen(word) == n && strncasecmp(s, word, n) == 0;
}

static bool ends_list(const char *s, size_t n)
{
        return n == 0 || is_word(s, n, "none") || is_word(s, n, "void") ||
               is_word(s, n, "NoDevFiles") || is_word(s, n, "-1");
}

/* The length of the next token: up to a comma that is not inside brackets. */
static size_t token_len(const char *s)
{
        size_t i = 0;
        for (int depth = 0; s[i] && (s[i] != ',' || depth > 0); i++)
                depth += s[i] == '[' ? 1 : s[i] == ']' ? -1 : 0;
        return i;
}

/* A bracket may hold a list of its own: "gpu[0-1,4]". */
static bool add_bracket_list(const char *s, size_t n, struct selection *ret)
{
        const char *open = memchr(s, '[', n);
        if (!open || s[n - 1] != ']' || !memchr(open, ',', (size_t)(s + n - open)))
                return false;
        for (const char *p = open + 1; p < s + n - 1;) {
                size_t len = strcspn(p, ",]");
                struct select_token t = {.gi = -1, .ci = -1};
                if (ret->n == SELECT_TOKENS_MAX || !read_span(p, len, &t))
                        return false;
                ret->tokens[ret->n++] = t;
                p += len + 1;
        }
        return true;
}

static int select_refuse(const char *origin, const char *token, size_t n, struct err *err)
{
        err_set(err, ERR_USAGE, "%s: '%.*s' is not a GPU", origin, (int)MIN(n, (size_t)60), token);
        return err_hint(err, "give numbers and ranges (0,2 or 0-3), UUIDs (GPU-8f2e…, MIG-…), "
                             "slices (1/7, GPU-I 7) or PCI bus ids, separated by commas; or all");
}

static int parse_selection(const char *list, const char *origin, enum vendor vendor,
                           struct selection *ret, struct err *err)
{
        *ret = (struct selection){.origin = origin};
        for (const char *s = list;;) {
                s += strspn(s, " ");
                size_t len = token_len(s), n = len;
                while (n > 0 && s[n - 1] == ' ')
                        n--;
                if (ends_list(s, n))
                        return 0;
                if (is_word(s, n, "all"))
                        ret->all = true;
                else if (ret->n == SELECT_TOKENS_MAX)
                        return select_refuse(origin, "more than 256 entries", 21, err);
                else if (read_token(s, n, vendor, &ret->tokens[ret->n]))
                        ret->n++;
                else if (!add_bracket_list(s, n, ret))
                        return select_refuse(origin, s, n, err);
                if (s[len] == '\0')
                        return 0;
                s += len + 1;
        }
}

int select_parse(const char *list, const char *origin, struct selection *ret, struct err *err)
{
        return select_parse_variable(list, &(struct select_variable){.name = origin}, ret, err);
}

int select_parse_variable(const char *list, const struct select_variable *variable,
                          struct selection *ret, struct err *err)
{
        int r = parse_selection(list, variable->name, variable->vendor, ret, err);
        for (size_t i = 0; r == 0 && i < ret->n; i++) {
                ret->tokens[i].vendor = variable->vendor;
                ret->tokens[i].origin = variable->name;
        }
        ret->scoped = variable->vendor != VENDOR_UNKNOWN;
        ret->limited[variable->vendor] = !ret->all;
        return r;
}

static const struct select_variable variables[] = {
    {"CUDA_VISIBLE_DEVICES", VENDOR_NVIDIA}, {"NVIDIA_VISIBLE_DEVICES", VENDOR_NVIDIA},
    {"ROCR_VISIBLE_DEVICES", VENDOR_AMD},    {"HIP_VISIBLE_DEVICES", VENDOR_AMD},
    {"ZE_AFFINITY_MASK", VENDOR_INTEL},      {"SLURM_STEP_GPUS", VENDOR_UNKNOWN},
    {"SLURM_JOB_GPUS", VENDOR_UNKNOWN},
};

const struct select_variable *select_variable_at(size_t i)
{
        return i < ARRAY_LEN(variables) ? &variables[i] : NULL;
}

/* The i-th GPU of a list: ranges count as many as they hold. */
static bool nth_of(const struct selection *s, int32_t i, struct select_token *ret)
{
        for (size_t k = 0; k < s->n; k++) {
                const struct select_token *t = &s->tokens[k];
                int32_t many = t->kind == SELECT_INDEX ? t->hi - t->lo + 1 : 1;
                if (i < many) {
                        *ret = *t;
                        if (t->kind == SELECT_INDEX)
                                ret->lo = ret->hi = t->lo + i;
                        return true;
                }
                i -= many;
        }
        return false;
}

/* HIP numbers what ROCR leaves, in ROCR's order. */
static void choose_within(const struct selection *outer, struct selection *inner)
{
        struct selection both = *inner;
        if (outer->all || inner->all) {
                if (inner->all)
                        *inner = *outer;
                return;
        }
        both.n = 0;
        for (size_t i = 0; i < inner->n; i++) {
                struct select_token t = inner->tokens[i];
                int32_t hi = t.kind == SELECT_INDEX ? t.hi : t.lo;
                for (int32_t k = t.lo; k <= hi && both.n < SELECT_TOKENS_MAX; k++) {
                        struct select_token *to = &both.tokens[both.n];
                        if (t.kind != SELECT_INDEX)
                                *to = t;
                        else if (!nth_of(outer, k, to))
                                break;
                        both.n++;
                }
        }
        *inner = both;
}

static void add_list(struct selection *to, const struct selection *from, enum vendor vendor)
{
        for (size_t i = 0; i < from->n && to->n < SELECT_TOKENS_MAX; i++)
                to->tokens[to->n++] = from->tokens[i];
        to->limited[vendor] = !from->all;
        to->scoped = true;
        if (!to->origin)
                to->origin = from->origin;
}

/* A list we cannot read is not usable: the next one may be. */
static bool read_variable(const struct select_variable *v, const char *(*get_env)(const char *name),
                          struct selection *ret)
{
        const char *list = get_env(v->name);
        return list && *list && select_parse_variable(list, v, ret, NULL) == 0;
}

/* What the variables of one vendor choose. False when none is usable. */
static bool choose_vendor(enum vendor vendor, const char *(*get_env)(const char *name),
                          struct selection *ret)
{
        bool any = false;
        for (size_t i = 0; i < ARRAY_LEN(variables); i++) {
                struct selection one;
                if (variables[i].vendor != vendor || !read_variable(&variables[i], get_env, &one))
                        continue;
                if (any && vendor == VENDOR_AMD)
                        choose_within(ret, &one);
                if (!any || vendor == VENDOR_AMD)
                        *ret = one;
                any = true;
        }
        return any;
}

bool select_by_intel_cards(const char *(*get_env)(const char *name))
{
        const char *hierarchy = get_env("ZE_FLAT_DEVICE_HIERARCHY");
        return hierarchy && strcasecmp(hierarchy, "COMPOSITE") == 0;
}

int select_choose(const char *gpus, bool show_all, bool use_environment,
                  const char *(*get_env)(const char *name), struct selection *ret, struct err *err)
{
        struct selection one;
        if (gpus)
                return select_parse(gpus, "--gpus", ret, err);
        *ret = (struct selection){.all = true};
        if (!use_environment || show_all)
                return 0;
        ret->all = false;
        for (enum vendor v = VENDOR_NVIDIA; v < VENDOR_COUNT; v++) {
                if (choose_vendor(v, get_env, &one))
                        add_list(ret, &one, v);
        }
        if (!ret->scoped && choose_vendor(VENDOR_UNKNOWN, get_env, &one))
                *ret = one;
        else if (!ret->scoped)
                ret->all = true;
        return 0;
}

int select_choose_noting(const char *gpus, bool show_all, const char *host,
                         const char *(*get_env)(const char *name), struct selection *ret,
                         struct err *err)
{
        if (gpus || show_all)
                return select_choose(gpus, show_all, false, get_env, ret, err);
        for (size_t i = 0; i < ARRAY_LEN(variables); i++) {
                const struct select_variable any = {variables[i].name, VENDOR_UNKNOWN};
                if (!read_variable(&any, get_env, ret))
                        continue;
                snprintf(ret->host, sizeof(ret->host), "%s", host);
                return 0;
        }
        *ret = (struct selection){.all = true};
        return 0;
}

/* "node7" and "node7.cluster" are the same. */
static bool same_host(const char *a, const char *b)
{
        size_t n = strcspn(a, "."), m = strcspn(b, ".");
        return n == m && strncasecmp(a, b, n) == 0;
}

static bool is_elsewhere(const struct selection *s, const struct entity *e)
{
        const char *host = e->text[ENTITY_TEXT_HOST];
        return s->host[0] && host[0] && !same_host(s->host, host);
}

static bool index_matches(const struct select_token *t, const struct entity *e)
{
        if (t->vendor == VENDOR_UNKNOWN)
                return e->index >= t->lo && e->index <= t->hi;
        return e->ordinal <= t->hi && e->ordinal + MAX(e->ordinals, 1) > t->lo;
}

static bool token_matches(const struct select_token *t, const struct entity *e)
{
        const char *pci = e->text[ENTITY_TEXT_PCI];
        size_t pci_len = strlen(pci);
        if (t->vendor != VENDOR_UNKNOWN && t->vendor != e->vendor)
                return false;
        switch (t->kind) {
        case SELECT_INDEX:
                return index_matches(t, e);
        case SELECT_SLICE:
                return index_matches(t, e) && e->gi == t->gi && (t->ci < 0 || e->ci == t->ci);
        case SELECT_FLAT:
                return e->index < 0 && e->flat == t->lo &&
                       e->kind == (t->ci < 0 ? ENTITY_GPU_INSTANCE : ENTITY_COMPUTE_INSTANCE);
        case SELECT_UUID:
                return strncasecmp(e->text[ENTITY_TEXT_UUID], t->text, strlen(t->text)) == 0;
        case SELECT_PCI:
                return pci_len >= 7 && strcasecmp(pci + pci_len - 7, t->text) == 0;
        }
        return false;
}

bool select_includes(struct selection *s, const struct entity *e)
{
        bool included = s->all || (s->scoped && !s->limited[e->vendor]) || is_elsewhere(s, e);
        s->seen[e->vendor] = true;
        for (size_t i = 0; i < s->n; i++) {
                if (token_matches(&s->tokens[i], e))
                        included = s->tokens[i].matched = true;
        }
        return included;
}

const char *select_unmatched(const struct selection *s, char *buf, size_t size)
{
        for (size_t i = 0; i < s->n; i++) {
                const struct select_token *t = &s->tokens[i];
                if (t->matched || (t->vendor != VENDOR_UNKNOWN && !s->seen[t->vendor]))
                        continue;
                if (t->kind == SELECT_UUID || t->kind == SELECT_PCI)
                        snprintf(buf, size, "%s", t->text);
                else if (t->kind == SELECT_FLAT)
                        snprintf(buf, size, "GPU-%sI %d", t->ci < 0 ? "" : "C", t->lo);
                else if (t->kind == SELECT_SLICE)
                        snprintf(buf, size, "%d/%d", t->lo, t->gi);
                else if (t->lo == t->hi)
                        snprintf(buf, size, "%d", t->lo);
                else
                        snprintf(buf, size, "%d-%d", t->lo, t->hi);
                return t->origin;
        }
        return NULL;
}
