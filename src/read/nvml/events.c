#include "read/nvml/events.h"

/* A GPU that reports more at once is in a state that one more look will not miss. */
#define EVENTS_A_LOOK 64

void nvml_events_open(struct nvml_events *e, const struct nvml_lib *lib)
{
        *e = (struct nvml_events){.lib = lib};
        e->rc = lib->event_wait ? NVML_CALL(lib, event_create, &e->set) : NVML_FUNCTION_NOT_FOUND;
        if (e->rc != 0)
                e->set = NULL;
}

void nvml_events_close(struct nvml_events *e)
{
        if (e->set)
                NVML_CALL(e->lib, event_free, e->set);
        e->set = NULL;
}

void nvml_events_watch(struct nvml_events *e, nvml_device handle, struct nvml_xids *xids)
{
        int rc = e->set ? NVML_CALL(e->lib, event_register, handle, NVML_EVENT_XID, e->set) : e->rc;
        size_t i = 0;
        while (i < e->n && e->gpu[i].xids != xids)
                i++;
        if (i == NVML_GPUS_MAX)
                rc = NVML_INSUFFICIENT_RESOURCES;
        atomic_store(&xids->state, (int)nvml_state(rc));
        if (rc != 0)
                return;
        if (i == e->n)
                e->n++;
        e->gpu[i].handle = handle;
        e->gpu[i].xids = xids;
}

static void count(struct nvml_events *e, const struct nvml_event *event)
{
        for (size_t i = 0; i < e->n; i++) {
                if (e->gpu[i].handle != event->device)
                        continue;
                atomic_store(&e->gpu[i].xids->last, (uint32_t)event->data);
                atomic_fetch_add(&e->gpu[i].xids->count, 1);
        }
}

void nvml_events_poll(struct nvml_events *e)
{
        struct nvml_event event = {0};
        for (int i = 0; e->set && e->n > 0 && i < EVENTS_A_LOOK; i++) {
                if (NVML_CALL(e->lib, event_wait, e->set, &event, 0) != 0)
                        return;
                if (event.type == NVML_EVENT_XID)
                        count(e, &event);
        }
}
