/* Times in which a job made no progress, in words. */
#include "base/attr.h"
#include "present/report/parts.h"

#include <math.h>

void report_stall(const struct stretch_list *list, const struct stretch_stall *s,
                  struct strbuf *out)
{
        strbuf_puts(out, gpu_set_count(&s->gpus) > 1 ? "GPUs " : "GPU ");
        report_stretch_gpus(list, &s->gpus, out);
        strbuf_puts(out, " stalled for ");
        report_put_seconds(out, s->end_s - s->begin_s);
        strbuf_putf(
            out, " (from %.1f to %.1f s%s): kernels ran and moved nothing, although %s had worked",
            s->begin_s, s->end_s, s->is_ongoing ? ", the end of the recording" : "",
            gpu_set_count(&s->gpus) > 1 ? "they" : "it");
        if (s->words[0])
                strbuf_putf(out, "; %s", s->words);
}

const char *report_stall_try(const struct stretch_stall *s)
{
        if (s->advice)
                return s->advice;
        return s->words[0] ? "see who it waited for: 'assay why' on the recordings of all ranks or "
                             "nodes in one folder"
                           : "run 'assay why' while it lasts, or record with stacks: they say who "
                             "is waited for";
}
