/* A comparison for people and programs. */
#pragma once

#include "base/err.h"
#include "base/strbuf.h"
#include "model/diff.h"

/* What is shown: borrowed. */
struct diff_page {
        const struct diff *d;
        const struct diff_side *base, *now;
        const struct traces *traces[2]; /* of the first run of each side */
        int status;                     /* the exit status that follows */
        const char *version;            /* the program's */
};

/* 0, or a code with a hint that lists the formats. */
int diff_write(const struct diff_page *page, const char *format, struct strbuf *out,
               struct err *err);
/* At most a screen, however much there is. */
void diff_text(const struct diff_page *page, struct strbuf *out);
void diff_json(const struct diff_page *page, struct strbuf *out);
/* For the summary of a CI job and for comments. */
void diff_markdown(const struct diff_page *page, struct strbuf *out);
/* One test case a gate, or one for the verdict. */
void diff_junit(const struct diff_page *page, struct strbuf *out);
/* One file, with both runs' curves over each other. */
void diff_html(const struct diff_page *page, struct strbuf *out);

/* ---- words that the formats share ---- */

/* "slower: step 124 ms -> 131 ms, +5.6 % (95 %: +4.9 to +6.4 %)". */
void diff_put_verdict(const struct diff_page *page, struct strbuf *out);
/* "base.assay and 2 more, 24.7 s, 8 GPUs (NVIDIA H200)". */
void diff_put_side(const struct diff_side *side, struct strbuf *out);
/* Where the noise comes from, a sentence; nothing when there is no main row. */
void diff_put_method(const struct diff_page *page, struct strbuf *out);
/* The cause, a sentence; nothing when there is none. */
void diff_put_cause(const struct diff_page *page, struct strbuf *out);
/* The lines of the program that took a good part of the change, beside the cause; nothing when none
 * is known. */
void diff_put_lines(const struct diff_page *page, struct strbuf *out);
/* "0.124 s", "12.4 GiB", "87.1 %"; "--" when missing. */
void diff_put_value(enum unit unit, struct value v, struct strbuf *out);
/* The length of a part; "--" when it is negative: not on that side. */
void diff_put_seconds(double s, struct strbuf *out);
/* "+5.6 %", "+5.6 points". */
void diff_put_change(const struct diff_row *row, struct strbuf *out);
/* "+4.9 to +6.4 %"; "--" when there is none. */
void diff_put_interval(const struct diff_row *row, struct strbuf *out);
/* Both values, the change and its interval, each with the same before it. */
void diff_put_cells(const struct diff_row *row, const char *before, struct strbuf *out);
/* What a row comes to, for people: its word; where there is none, why. */
const char *diff_row_words(const struct diff_row *row);
/* "GPUs: 8, now 7; other numbers of GPUs do other work (forbids a verdict; …)". */
void diff_put_check(const struct diff_check *check, struct strbuf *out);
/* Its parts: "GPU lost in NEW"; what stands on a side, which may be nothing; why it forbids a
 * verdict and the word that allows it: empty and NULL for none. */
void diff_put_check_name(const struct diff_check *check, struct strbuf *out);
void diff_put_checked(const struct diff_check *check, bool is_new, struct strbuf *out);
const char *diff_check_why(const struct diff_check *check);
const char *diff_check_allow(const struct diff_check *check);
/* Why there is no verdict; nothing where there is one. */
void diff_put_reason(const struct diff *d, struct strbuf *out);
/* "time at most +5 %: within". */
void diff_put_gate(const struct diff_page *page, const struct diff_gate *gate, struct strbuf *out);
/* "step", "limited by tensor cores". */
void diff_put_row_name(const struct diff *d, const struct diff_row *row, struct strbuf *out);
/* "start-up, limited by CPU code", "limited by tensor cores". */
void diff_put_part(const struct diff *d, const struct diff_part *part, struct strbuf *out);
const char *diff_gate_word(enum diff_gate_result result);
