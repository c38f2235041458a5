#include "model/integral.h"

#include "model/throttle.h"

static const struct integral_info table[INTEGRAL_COUNT] = {
#define INTEGRAL(id, name, how, metric, mask) {name, INTEGRAL_HOW_##how, metric, mask},
#include "model/integrals.def"
#undef INTEGRAL
};

const struct integral_info *integral_info(enum integral integral)
{
        return &table[integral];
}
