/* A message to a web hook. */
#include "fleet/fleet.h"
#include "net/ask.h"

int fleet_post_json(const char *url, const char *token_file, int64_t timeout_ns, const char *json,
                    struct err *err)
{
        const struct ask_config config = {.base = url,
                                          .token_file = token_file,
                                          .type = "application/json",
                                          .timeout_ns = timeout_ns,
                                          .wake = -1};
        struct query_request request = {.path = "", .form = json};
        struct ask *ask;
        int r = ask_open(&config, &ask, err);
        if (r < 0)
                return r;
        r = probe_all(ask, &request, 1, err);
        if (r > 0 && (request.status < 200 || request.status > 299))
                r = err_set(err, ERR_NO_SOURCE, "'%s' does not take the message: it answers %ld",
                            ask_shown(ask), request.status);
        strbuf_finish(&request.body);
        ask_close(ask);
        return r < 0 ? r : 0;
}
