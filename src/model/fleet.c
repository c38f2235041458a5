#include "model/fleet.h"

#include "base/text.h"

#include <stdio.h>
#include <string.h>

static const struct {
        const char *name, *what;
} views[] = {
#define FLEET_VIEW(id, name, what) {name, what},
    FLEET_VIEWS(FLEET_VIEW)
#undef FLEET_VIEW
};

const char *fleet_view_name(enum fleet_view view)
{
        return views[view].name;
}

const char *fleet_view_what(enum fleet_view view)
{
        return views[view].what;
}

enum fleet_view fleet_view_find(const char *name)
{
        enum fleet_view i = 0;
        while (i < FLEET_VIEW_COUNT && strcmp(views[i].name, name) != 0)
                i++;
        return i;
}

void fleet_report_finish(struct fleet_report *r)
{
        document_finish(&r->tables);
        *r = (struct fleet_report){0};
}

void fleet_report_notice(struct fleet_report *r, enum fleet_notice_kind kind, double a, double b)
{
        if (r->n_notices < FLEET_NOTICES_MAX)
                r->notices[r->n_notices++] = (struct fleet_notice){.kind = kind, .a = a, .b = b};
}

void fleet_report_warning(struct fleet_report *r, const char *text)
{
        if (r->n_notices == FLEET_NOTICES_MAX)
                return;
        struct fleet_notice *n = &r->notices[r->n_notices++];
        *n = (struct fleet_notice){.kind = FLEET_WARNING};
        snprintf(n->text, sizeof(n->text), "%s", text);
        text_clean(n->text);
}
