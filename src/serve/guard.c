#include "serve/guard.h"

#include "base/base64.h"

#include "base/attr.h"
#include "base/num.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

/* --- names ----------------------------------------------------------------------------------- */

#define NAME_LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.*:[]"

/* The name without its port. False when it is not a name and no address. */
static bool name_of(const char *header, char *ret, size_t size)
{
        const char *end;
        if (header[0] == '[') {
                header++;
                end = strchr(header, ']');
                if (!end || (end[1] != '\0' && end[1] != ':'))
                        return false;
        } else {
                end = header + strcspn(header, ":");
                if (*end == ':' && strchr(end + 1, ':'))
                        return false;
        }
        const char *port = *end == ']' ? end + 1 : end;
        if (*port == ':' && (port[1] == '\0' || strspn(port + 1, "0123456789") != strlen(port + 1)))
                return false;
        size_t n = (size_t)(end - header);
        if (n > 0 && header[n - 1] == '.')
                n--; /* the root's dot */
        if (n == 0 || n >= size)
                return false;
        for (size_t i = 0; i < n; i++)
                ret[i] = (char)tolower((unsigned char)header[i]);
        ret[n] = '\0';
        return true;
}

static bool is_address(const char *name)
{
        struct in_addr four;
        struct in6_addr six;
        return inet_pton(AF_INET, name, &four) == 1 || inet_pton(AF_INET6, name, &six) == 1;
}

bool guard_add_host(struct guard_hosts *hosts, const char *name, size_t len)
{
        char copy[GUARD_HOST_MAX];
        if (hosts->n == GUARD_HOSTS_MAX || len == 0 || len >= sizeof(copy))
                return false;
        memcpy(copy, name, len);
        copy[len] = '\0';
        if (strspn(copy, NAME_LETTERS) < len ||
            !name_of(copy, hosts->names[hosts->n], GUARD_HOST_MAX))
                return false;
        hosts->n++;
        return true;
}

static bool name_matches(const char *pattern, const char *name)
{
        size_t n = strlen(name), p = strlen(pattern);
        if (strncmp(pattern, "*.", 2) == 0)
                return n > p - 1 && strcmp(name + n - (p - 1), pattern + 1) == 0;
        return strcmp(pattern, name) == 0;
}

bool guard_host(const struct guard_hosts *hosts, const char *header)
{
        char name[GUARD_HOST_MAX];
        if (!header || !name_of(header, name, sizeof(name)))
                return false;
        if (is_address(name) || strcmp(name, "localhost") == 0)
                return true;
        for (size_t i = 0; i < hosts->n; i++) {
                if (name_matches(hosts->names[i], name))
                        return true;
        }
        return false;
}

bool guard_is_loopback(const char *host)
{
        struct in_addr four;
        struct in6_addr six;
        if (inet_pton(AF_INET, host, &four) == 1)
                return (ntohl(four.s_addr) >> 24) == 127;
        if (inet_pton(AF_INET6, host, &six) == 1)
                return IN6_IS_ADDR_LOOPBACK(&six);
        return strcmp(host, "localhost") == 0;
}

bool guard_site(const char *header)
{
        return !header || strcmp(header, "same-origin") == 0 || strcmp(header, "none") == 0;
}

/* --- lists ----------------------------------------------------------------------------------- */

/* The weight among an entry's parameters; 1 when it has none that makes sense. */
static double weight_of(const char *s, size_t n)
{
        const char *end = s + n;
        double weight;
        while ((s = memchr(s, ';', (size_t)(end - s)))) {
                s += 1 + strspn(s + 1, " \t");
                if (end - s < 2 || strncasecmp(s, "q=", 2) != 0)
                        continue;
                size_t len = MIN(strcspn(s + 2, " \t;,"), (size_t)(end - s - 2));
                return num_parse_all(s + 2, len, &weight) && weight >= 0 ? MIN(weight, 1.0) : 1;
        }
        return 1;
}

double guard_weight(const char *header, const char *word)
{
        size_t len = strlen(word);
        double most = 0;
        while (header && *header) {
                header += strspn(header, " \t,");
                size_t n = strcspn(header, ",");
                if (n >= len && strncasecmp(header, word, len) == 0 &&
                    (n == len || strchr("; \t", header[len])))
                        most = MAX(most, weight_of(header, n));
                header += n;
        }
        return most;
}

/* --- secrets --------------------------------------------------------------------------------- */

const char *guard_bearer(const char *header)
{
        return header && strncasecmp(header, "Bearer ", 7) == 0 && header[7] ? header + 7 : NULL;
}

static bool decode_percent(const char *s, char *ret, size_t size)
{
        size_t n;
        if (!base64_read(s, strlen(s), ret, size - 1, &n))
                return false;
        ret[n] = '\0';
        return strlen(ret) == n;
}

bool guard_basic(const char *header, char *user, char *password, size_t size)
{
        if (!header || strncasecmp(header, "Basic ", 6) != 0 ||
            !decode_percent(header + 6, user, size))
                return false;
        char *colon = strchr(user, ':');
        if (!colon)
                return false;
        *colon = '\0';
        snprintf(password, size, "%s", colon + 1);
        return true;
}

bool guard_cookie(const char *header, const char *name, char *ret, size_t size)
{
        size_t len = strlen(name);
        while (header && *header) {
                header += strspn(header, " ;");
                size_t n = strcspn(header, ";");
                if (n > len && strncmp(header, name, len) == 0 && header[len] == '=') {
                        n -= len + 1;
                        if (n >= size)
                                return false;
                        memcpy(ret, header + len + 1, n);
                        ret[n] = '\0';
                        return true;
                }
                header += n;
        }
        return false;
}

bool guard_same(const char *a, const char *b)
{
        size_t an = strlen(a), bn = strlen(b);
        volatile unsigned differ = an != bn;
        for (size_t i = 0; i < an; i++)
                differ |= (unsigned)(a[i] ^ b[bn ? i % bn : 0]);
        return differ == 0;
}
