/* What another machine says of its stacks. */
#include "fuzz.h"

#include "base/strbuf.h"
#include "compute/why/why.h"
#include "formats/snapshot/snapshot.h"
#include "present/document/document.h"
#include "present/stream/stack_snapshot.h"
#include "present/text/stack_snapshot.h"
#include "present/why/why.h"

#include <stdlib.h>
#include <string.h>

/* What is concluded from it, as a page. */
static void put_page(const struct stack_snapshot *look, struct strbuf *out)
{
        const struct doc_view view = {.columns = 120};
        struct why why;
        struct document page;
        struct err err = {0};
        if (why_conclude(look, NULL, &why) < 0)
                abort();
        why_document(&why, "0", &page);
        if (document_write(&page, "text", &view, out, &err) < 0 ||
            document_write(&page, "json", &view, out, &err) < 0)
                abort();
        document_finish(&page);
        why_finish(&why);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        struct stack_snapshot look;
        struct strbuf out = {0};
        struct err err = {0};
        if (stack_snapshot_init(&look) < 0)
                abort();
        if (!stack_snapshot_add_host(&look, "a") || !stack_snapshot_add_host(&look, "b"))
                abort();
        for (uint32_t host = 0; host < 2; host++)
                snapshot_parse((const char *)data, size, 1, host, &look, &err);
        stack_snapshot_settle(&look);
        put_page(&look, &out);
        snapshot_write_text(&look, true, &out);
        snapshot_write_text(&look, false, &out);
        snapshot_write_json(&look, "0", &out);
        if (memchr(out.s, 27, out.len))
                abort(); /* an escape sequence would reach the terminal */
        strbuf_finish(&out);
        stack_snapshot_finish(&look);
        return 0;
}
