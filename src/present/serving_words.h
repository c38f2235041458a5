/* What is said of a model server, in the same words on every surface. Missing figures are left out.
 */
#pragma once

#include "base/strbuf.h"
#include "model/serving.h"

/* "0.52", "1520", "9.8 million": tokens, of which there are few or very many. */
void serving_put_many(struct strbuf *out, double v);
/* "vLLM at localhost:8000 (Qwen3-8B), GPU 0,1"; the path of the address only where it is unusual.
 */
void serving_put_name(struct strbuf *out, const struct serving *s);
/* "31 running, 4 waiting, cache 94 %, 1520 tokens/s, prompts 9800 tokens/s". */
void serving_put_load(struct strbuf *out, const struct serving *s);
/* "first token 210 ms (p95 400 ms), 20.4 ms a token (p95 30 ms)". */
void serving_put_latency(struct strbuf *out, const struct serving *s);
/* "limited by device memory, in decoding"; "likely limited by …"; why there is nothing to say. */
void serving_put_limit(struct strbuf *out, const struct served *s);
/* What to change, by the engine's options, "" where nothing is known. */
const char *serving_try(const struct served *s);
/* "at most 90 tokens/s more at this latency, until the tensor cores are full (62 %); add a GPU". */
void serving_put_headroom(struct strbuf *out, const struct served *s);
/* "2.3 tokens/J, 5.5 million tokens a GPU-hour, MFU 31 % (tensor cores 35 %), MBU 62 % (device
 * memory 66 %)". */
void serving_put_yield(struct strbuf *out, const struct served *s);
