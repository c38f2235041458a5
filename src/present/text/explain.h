/* Verdicts in words: the rule, its inputs, the nearest other class, what is missing. */
#pragma once

#include "base/strbuf.h"
#include "model/frame.h"

/* "tensor-heavy compute: tensor >= 50 and sm >= 60 (tensor_active 87 %, …)". No newline. */
void explain_verdict(const struct row *row, struct strbuf *out);
/* The class in one or two words; "asleep" for a GPU that the kernel has suspended. */
const char *explain_class(const struct row *row);
/* "WARN: PCIe packets are being sent again (2.00 /s)"; nothing when OK. No newline. */
void explain_health(const struct row *row, struct strbuf *out);
/* What a set of throttle bits means, in words; "none" when nothing holds the clocks down. */
void explain_throttle(uint64_t bits, struct strbuf *out);
