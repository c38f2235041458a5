/* A bearer token in a file, which may change while the program runs. */
#pragma once

#include "base/err.h"

#define TOKEN_MAX 16384

/* Reads the one word of the file. 0, or ERR_NO_SOURCE with a remedy in err. */
int token_read(const char *path, char ret[TOKEN_MAX], struct err *err);
