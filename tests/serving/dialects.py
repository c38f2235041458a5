"""What each engine writes of a playing server, by its own names: (name, labels, value) a series, and histograms."""
MODEL = "toy/8B"


def of_vllm(s):
    label = f'engine="0",model_name="{MODEL}"'
    rows = [("num_requests_running", len(s.running)), ("num_requests_waiting", len(s.waiting)), ("kv_cache_usage_perc", s.cached() / s.load.cache),
            ("prompt_tokens_total", s.prompts), ("prefix_cache_hits_total", s.reused), ("generation_tokens_total", s.outputs),
            ("num_preemptions_total", s.preempted), ("request_success_total", s.finished)]
    times = [("time_to_first_token_seconds", s.ttft), ("inter_token_latency_seconds", s.itl), ("request_queue_time_seconds", s.queue)]
    return [(f"vllm:{n}", label, v) for n, v in rows], [(f"vllm:{n}", label, h) for n, h in times]


def of_sglang(s):
    label = f'engine_type="unified",model_name="{MODEL}",tp_rank="0"'
    rows = [("num_running_reqs", len(s.running)), ("num_queue_reqs", len(s.waiting)), ("max_running_requests", s.load.max_running),
            ("token_usage", s.cached() / s.load.cache), ("prompt_tokens_total", s.prompts), ("cached_tokens_total", s.reused),
            ("generation_tokens_total", s.outputs), ("num_retracted_requests_total", s.preempted), ("num_requests_total", s.finished)]
    times = [("time_to_first_token_seconds", s.ttft), ("inter_token_latency_seconds", s.itl), ("queue_time_seconds", s.queue)]
    return [(f"sglang:{n}", label, v) for n, v in rows], [(f"sglang:{n}", label, h) for n, h in times]


def of_trtllm(s):
    label = f'engine_type="trtllm",model_name="{MODEL}"'
    rows = [("num_requests_running", len(s.running)), ("num_requests_waiting", len(s.waiting)), ("kv_cache_utilization", s.cached() / s.load.cache),
            ("prompt_tokens_total", s.prompts), ("generation_tokens_total", s.outputs), ("request_success_total", s.finished)]
    times = [("time_to_first_token_seconds", s.ttft), ("time_per_output_token_seconds", s.itl), ("request_queue_time_seconds", s.queue)]
    return [(f"trtllm_{n}", label, v) for n, v in rows], [(f"trtllm_{n}", label, h) for n, h in times]


def of_triton(s):
    label = 'model="tensorrt_llm",version="1"'
    requests = [("scheduled", len(s.running)), ("waiting", len(s.waiting)), ("max", s.load.max_running), ("active", len(s.running) + len(s.waiting))]
    return [("nv_trt_llm_request_metrics", f'{label},request_type="{kind}"', v) for kind, v in requests] + [
        ("nv_trt_llm_kv_cache_block_metrics", f'{label},kv_cache_block_type="fraction"', s.cached() / s.load.cache),
        ("nv_inference_request_success", label, s.finished), ("nv_inference_queue_duration_us", label, int(s.queue.sum * 1e6)),
        ("nv_llm_input_token_len_sum", label, s.prompts_ended), ("nv_llm_output_token_len_sum", label, s.outputs_ended)], []


def of_tgi(s):
    return [("tgi_batch_current_size", "", len(s.running)), ("tgi_queue_size", "", len(s.waiting)), ("tgi_request_success", "", s.finished),
            ("tgi_request_input_length_sum", "", s.prompts_ended), ("tgi_request_generated_tokens_sum", "", s.outputs_ended)], [
        ("tgi_request_mean_time_per_token_duration", "", s.itl), ("tgi_request_queue_duration", "", s.queue)]


def of_llamacpp(s):
    return [("llamacpp:requests_processing", "", len(s.running)), ("llamacpp:requests_deferred", "", len(s.waiting)),
            ("llamacpp:prompt_tokens_total", "", s.prompts_ended), ("llamacpp:tokens_predicted_total", "", s.outputs_ended),
            ("llamacpp:tokens_predicted_seconds_total", "", s.time_ended)], []


DIALECTS = {"vllm": of_vllm, "sglang": of_sglang, "trtllm": of_trtllm, "triton": of_triton, "tgi": of_tgi, "llamacpp": of_llamacpp}


def series(name, label, value):
    return f"{name}{{{label}}} {value}" if label else f"{name} {value}"


def exposition(s):
    rows, times = DIALECTS[s.load.dialect](s)
    lines = [series(*r) for r in rows]
    for name, label, h in times:
        comma = label + "," if label else ""
        lines += [series(f"{name}_bucket", f'{comma}le="{e}"', c) for e, c in zip(h.edges, h.counts)]
        lines += [series(f"{name}_bucket", f'{comma}le="+Inf"', h.n), series(f"{name}_count", label, h.n), series(f"{name}_sum", label, h.sum)]
    return "\n".join(lines) + "\n"
