/* Tells systemd how the service is. Does nothing where systemd does not ask. */
#pragma once

#include <stdint.h>

/* "READY=1", "STOPPING=1", "WATCHDOG=1", "STATUS=…". */
void notify_send(const char *text);
/* How often the watchdog wants to hear; 0 when it does not. */
int64_t notify_watchdog_ns(void);
