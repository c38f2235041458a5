/* Text of a chart before anybody has a font: how wide it is at most, and what fits. */
#pragma once

#include <stddef.h>

/* Enough for a title; longer texts are cut. */
#define LABEL_MAX 512

/*
 * At least the width in most sans serif fonts: it counts with DejaVu Sans, one of the widest. So a
 * chart keeps its layout whatever font draws it.
 */
double label_width(const char *s, double size);

/* A copy that every format takes: valid UTF-8, no control characters. */
void label_clean(const char *s, char *buf, size_t n);

/* As much of s as fits the room, cut with an ellipsis; "" when that is less than three letters. */
void label_fit(const char *s, double size, double room, char *buf, size_t n);
