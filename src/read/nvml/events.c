#include "read/nvml/events.h"

/* A GPU that reports more at once is in a state that one more look will not miss. */
#define EVENTS_A_ROUND 64

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

static void count_event(struct nvml_events *e, const struct nvml_event *event)
{
        for (size_t i = 0; i < e->n; i++) {
                if (e->gpu[i].handle != event->device)
                        continue;
                nvml_xids_add(e->gpu[i].xids, (uint32_t)event->data);
        }
}

void nvml_xids_add(struct nvml_xids *x, uint32_t number)
{
        _Atomic uint64_t *place = &x->runs[x->newest % NVML_XID_RUNS];
        uint64_t run = atomic_load(place);
        while (run != 0 && run >> 32 == number) {
                if (atomic_compare_exchange_weak(place, &run, run + 1))
                        return;
        }
        place = &x->runs[(x->newest + 1) % NVML_XID_RUNS];
        if (atomic_load(place) != 0) {
                atomic_fetch_add(&x->dropped, 1);
                return;
        }
        atomic_store(place, (uint64_t)number << 32 | 1);
        x->newest++;
}

void nvml_xids_take(struct nvml_xids *x)
{
        uint64_t run = atomic_exchange(&x->runs[(x->oldest + 1) % NVML_XID_RUNS], 0);
        x->count += atomic_exchange(&x->dropped, 0);
        if (run == 0)
                return;
        x->oldest++;
        x->last = (uint32_t)(run >> 32);
        x->count += (uint32_t)run;
}

void nvml_events_poll(struct nvml_events *e)
{
        struct nvml_event event = {0};
        for (int i = 0; e->set && e->n > 0 && i < EVENTS_A_ROUND; i++) {
                if (NVML_CALL(e->lib, event_wait, e->set, &event, 0) != 0)
                        return;
                if (event.type == NVML_EVENT_XID)
                        count_event(e, &event);
        }
}
