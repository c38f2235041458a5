/* A recorded run into the files of experiment trackers. */
#pragma once

#include "base/strbuf.h"
#include "config/config.h"

/*
 * target: tensorboard:FOLDER, in which a new event file is made, or jsonl:FILE, to which a line is
 * added. 0 or a negative code with err; notices: a line each.
 */
int publish_run(const struct config *config, const char *path, const char *target,
                struct strbuf *notices, struct err *err);
