/* The flight recorder that the options ask for, of a program that reads this machine. */
#pragma once

#include "app/setup.h"
#include "engine/flight.h"

/*
 * Opens it: *ret is NULL with --flight off, of a source that is not this machine's, and where there
 * is no folder for dumps, which is reported in notice unless somebody asked for them: then it is an
 * error. It knows what a session's manifest says of this run.
 */
int flight_setup_open(const struct config *config, struct flight **ret,
                      char notice[SETUP_NOTICE_MAX], struct err *err);
/* The folder where programs of this user on this host are entered that keep one; "" for none. */
void flight_setup_runs(const struct config *config, char ret[SETUP_PATH_MAX]);
