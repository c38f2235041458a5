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
