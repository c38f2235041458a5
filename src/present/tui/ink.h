/* Colours by what they mean; theme.h says how each looks. The rows are in ink.def. */
#pragma once

enum ink {
#define INK(id, dark, light, sixteen, eight, mono) INK_##id,
#include "present/tui/ink.def"
#undef INK
        INK_COUNT
};
