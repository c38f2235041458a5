/* Model servers as members of a JSON object: "engines", left out where none are asked. */
#pragma once

#include "base/jsonw.h"
#include "model/serving.h"

/* As the engines say. */
void jsonw_servings(struct jsonw *j, const struct serving *list, size_t n);
/* Of one server: members of an object. */
void jsonw_served_members(struct jsonw *j, const struct served *s);
/* With what limits each, and what follows from its GPUs. */
void jsonw_served(struct jsonw *j, const struct served *list, size_t n);
