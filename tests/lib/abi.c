/* Prints what programs were compiled with: sizes, offsets, values. tests/lib/abi.py adds symbols.
 */
#include <assay/assay.h>

#include <stddef.h>
#include <stdio.h>

#define SIZE(type) printf("size %s %zu\n", #type, sizeof(type))
#define AT(type, member)                                                                           \
        printf("at %s.%s %zu %zu\n", #type, #member, offsetof(type, member),                       \
               sizeof(((type *)0)->member))
#define VALUE(name) printf("value %s %d\n", #name, (int)(name))

int main(void)
{
        SIZE(struct assay_error);
        AT(struct assay_error, code);
        AT(struct assay_error, message);
        AT(struct assay_error, hint);
        SIZE(struct assay_value);
        AT(struct assay_value, v);
        AT(struct assay_value, age_ms);
        AT(struct assay_value, state);
        SIZE(struct assay_counts);
        AT(struct assay_counts, asked);
        AT(struct assay_counts, taken);
        AT(struct assay_counts, late);
        AT(struct assay_counts, missed);
        SIZE(struct assay_verdict);
        AT(struct assay_verdict, workload);
        AT(struct assay_verdict, bottleneck);
        AT(struct assay_verdict, rule);
        AT(struct assay_verdict, rule_text);
        AT(struct assay_verdict, evidence);
        AT(struct assay_verdict, health);
        AT(struct assay_verdict, health_why);
        SIZE(struct assay_limit);
        AT(struct assay_limit, limiter);
        AT(struct assay_limit, held_by);
        AT(struct assay_limit, rule);
        AT(struct assay_limit, text);
        AT(struct assay_limit, advice);
        SIZE(struct assay_flops);
        AT(struct assay_flops, type);
        AT(struct assay_flops, lo);
        AT(struct assay_flops, hi);
        SIZE(struct assay_finding);
        AT(struct assay_finding, limiter);
        AT(struct assay_finding, held_by);
        AT(struct assay_finding, phase);
        AT(struct assay_finding, gpus);
        AT(struct assay_finding, text);
        AT(struct assay_finding, advice);
        AT(struct assay_finding, stretch);
        AT(struct assay_finding, stretches);
        AT(struct assay_finding, seconds);
        AT(struct assay_finding, gpu_seconds);
        AT(struct assay_finding, gain);
        SIZE(struct assay_place);
        AT(struct assay_place, what);
        AT(struct assay_place, words);
        AT(struct assay_place, text);
        AT(struct assay_place, file);
        AT(struct assay_place, function);
        AT(struct assay_place, in_file);
        AT(struct assay_place, in_function);
        AT(struct assay_place, line);
        AT(struct assay_place, in_line);
        AT(struct assay_place, looks);
        AT(struct assay_place, share);
        AT(struct assay_place, seconds);
        SIZE(struct assay_stretch);
        AT(struct assay_stretch, begin_s);
        AT(struct assay_stretch, end_s);
        AT(struct assay_stretch, gpus);
        AT(struct assay_stretch, limiter);
        AT(struct assay_stretch, held_by);
        AT(struct assay_stretch, phase);
        AT(struct assay_stretch, rule);
        AT(struct assay_stretch, duty);
        AT(struct assay_stretch, uneven);
        AT(struct assay_stretch, before_work);
        AT(struct assay_stretch, flops);
        VALUE(ASSAY_E_USAGE);
        VALUE(ASSAY_E_NO_SOURCE);
        VALUE(ASSAY_E_DATA);
        VALUE(ASSAY_E_FORKED);
        VALUE(ASSAY_E_STOPPED);
        VALUE(ASSAY_VALUE_ABSENT);
        VALUE(ASSAY_VALUE_OK);
        VALUE(ASSAY_VALUE_STALE);
        VALUE(ASSAY_VALUE_BLANK);
        VALUE(ASSAY_VALUE_UNSUPPORTED);
        VALUE(ASSAY_VALUE_DENIED);
        VALUE(ASSAY_VALUE_ERROR);
        VALUE(ASSAY_LEVEL_PROCESS);
        VALUE(ASSAY_LEVEL_USER);
        VALUE(ASSAY_LEVEL_SLURM);
        VALUE(ASSAY_LEVEL_CGROUP);
        VALUE(ASSAY_LEVEL_SYSTEM);
        VALUE(ASSAY_USE_UTIL);
        VALUE(ASSAY_USE_BAND);
        VALUE(ASSAY_USE_MEMORY);
        return 0;
}
