#include "net/address.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

static bool is_loopback(const char *host, size_t len)
{
        static const char *const names[] = {"localhost", "127.", "[::1]"};
        for (size_t i = 0; i < ARRAY_LEN(names); i++) {
                size_t n = strlen(names[i]);
                if (len >= n && strncasecmp(host, names[i], n) == 0)
                        return true;
        }
        return false;
}

static int address_refuse(struct err *err, const char *why)
{
        err_set(err, ERR_USAGE, "--source: %s", why);
        return err_hint(err, "write http://HOST:9400/metrics, https://…, or the path of a file");
}

bool address_has_scheme(const char *text)
{
        size_t n = strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ");
        return n > 0 && strncmp(text + n, "://", 3) == 0;
}

bool address_is_bare(const char *text)
{
        static const char letters[] =
            "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
        size_t host = strspn(text, letters);
        if (text[0] == '[') /* IPv6 */
                host = strcspn(text, "]") + 1;
        if (host < 1 || host > strlen(text) || text[host] != ':')
                return false;
        size_t port = strspn(text + host + 1, "0123456789");
        char end = text[host + 1 + port];
        return port >= 1 && port <= 5 && (end == '\0' || end == '/');
}

int address_parse(const char *text, struct address *ret, struct err *err)
{
        struct address a = {0};
        const char *mark = strstr(text, "://");
        if (strlen(text) + sizeof("http:///metrics") > ADDRESS_MAX)
                return address_refuse(err, "the address is too long");
        if (address_is_bare(text) && access(text, F_OK) < 0) {
                char full[ADDRESS_MAX];
                snprintf(full, sizeof(full), "http://%s", text);
                return address_parse(full, ret, err);
        }
        if (!mark) {
                snprintf(a.url, sizeof(a.url), "%s", text);
                snprintf(a.shown, sizeof(a.shown), "%s", text);
                snprintf(a.origin, sizeof(a.origin), "%s", text);
                *ret = a;
                return 0;
        }
        int scheme = (int)(mark - text);
        if ((scheme != 4 || strncasecmp(text, "http", 4) != 0) &&
            (scheme != 5 || strncasecmp(text, "https", 5) != 0))
                return address_refuse(err, "only http and https can be asked");
        const char *authority = mark + 3;
        size_t len = strcspn(authority, "/?#");
        const char *at = memrchr(authority, '@', len);
        const char *host = at ? at + 1 : authority;
        int host_len = (int)(authority + len - host);
        if (host_len == 0)
                return address_refuse(err, "the address names no host");
        const char *path = authority + len;
        const char *default_path = path[0] == '\0' ? "/metrics" : "";
        a.is_url = true;
        a.loopback = is_loopback(host, (size_t)host_len);
        snprintf(a.url, sizeof(a.url), "%s%s", text, default_path);
        snprintf(a.shown, sizeof(a.shown), "%.*s://%.*s%.*s%s", scheme, text, host_len, host,
                 (int)strcspn(path, "?#"), path, default_path);
        snprintf(a.origin, sizeof(a.origin), "%.*s://%.*s", scheme, text, host_len, host);
        *ret = a;
        return 0;
}
