/* A moment as the text of the exposition, for scrapes and for pushing. */
#pragma once

#include "present/exposition/exposition.h"
#include "serve/live.h"

/* What is reused from text to text. */
struct exposer {
        struct exposed_gpu *gpus;
        size_t cap;
};

void expose_finish(struct exposer *e);
/* What is known of the program without its HTTP side. Source is borrowed from the status. */
void expose_self(const struct live_status *status, int64_t started_wall_ns,
                 struct exposed_self *ret);
/* False when memory is short. */
bool expose_write(struct exposer *e, const struct live_moment *m,
                  const struct exposition_options *o, const struct exposed_self *self,
                  bool openmetrics, struct strbuf *out);
