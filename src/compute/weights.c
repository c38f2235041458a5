#include "base/num.h"
#include "compute/compute.h"

#include <math.h>
#include <string.h>

struct weights weights_preset(enum weights_preset preset)
{
        static const struct weights presets[] = {
            [WEIGHTS_AI] = {0.35, 0.35, 0.20, 0.10},
            [WEIGHTS_HPC] = {0.45, 0.15, 0.25, 0.15},
            [WEIGHTS_MEM] = {0.35, 0.10, 0.40, 0.15},
        };
        return presets[preset];
}

static int weights_refuse(struct err *err, const char *text, const char *why)
{
        err_set(err, ERR_USAGE, "weights '%s': %s", text, why);
        return err_hint(err, "give four numbers of 0 or more, for SM,TENSOR,DRAM,GR, "
                             "such as --weights 0.4,0.3,0.2,0.1");
}

int weights_parse(const char *text, struct weights *ret, struct err *err)
{
        double v[4], sum = 0;
        size_t n = 0;
        for (const char *s = text;; s++) {
                size_t len = strcspn(s, ",");
                size_t blanks = strspn(s, " ");
                if (n == ARRAY_LEN(v))
                        return weights_refuse(err, text, "more than four numbers");
                if (blanks > len || !num_parse_all(s + blanks, len - blanks, &v[n]))
                        return weights_refuse(err, text, "not four numbers");
                if (v[n] < 0)
                        return weights_refuse(err, text, "a negative weight");
                sum += v[n++];
                s += len;
                if (*s == '\0')
                        break;
        }
        if (n < ARRAY_LEN(v))
                return weights_refuse(err, text, "fewer than four numbers");
        if (!(sum > 0) || !isfinite(sum))
                return weights_refuse(err, text, "the sum is not above 0");
        /* Weights that sum to 1 already are used as they are, so that results stay comparable. */
        double scale = fabs(sum - 1) > 1e-6 ? sum : 1;
        *ret = (struct weights){v[0] / scale, v[1] / scale, v[2] / scale, v[3] / scale};
        return 0;
}
