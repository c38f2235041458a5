/* Any bytes as a list of hosts, a file of them, sinfo's lines and kubectl's JSON: every target that
 * comes out can be scraped. */
#include "fuzz.h"

#include "formats/targets/targets.h"

#include <stdlib.h>

static void check(const struct target_list *t)
{
        for (size_t i = 0; i < t->n; i++) {
                const char *host = t->list[i].host;
                if (host[0] == '\0' || strpbrk(host, " \t\n/\"\\[]{}@?#") || strlen(host) > 253 + 2)
                        abort();
        }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        static int (*const parse[])(struct target_list *, const char *, size_t, struct err *) = {
            targets_parse_list, targets_parse_hosts, targets_parse_sinfo, targets_parse_pods};
        for (size_t i = 0; i < sizeof(parse) / sizeof(*parse); i++) {
                struct target_list t = {0};
                struct err err = {0};
                struct strbuf out = {0};
                if (parse[i](&t, (const char *)data, size, &err) == 0) {
                        check(&t);
                        targets_sort(&t);
                        targets_write(&t, 9400, NULL, 0, &out);
                } else if (err.msg[0] == '\0') {
                        abort();
                }
                strbuf_finish(&out);
                targets_finish(&t);
        }
        return 0;
}
