"""Thirty more servers and what limits each: other engines, GPUs and models than those of scenarios.py; and ten that came when
rules had been mended after those. The labels were written, and committed, before assay saw any. `python3 blind.py` judges
them; `--model` says what each model of a server does."""
import sys

from machines import machine
from model import Load, Server
from scenarios import show_all

SCENARIOS = [
    ("prefill", "SGLang, long documents", machine("H100", "8B", dialect="sglang", arrivals=6.0, prompt=6000, output=40, chunk=8192)),
    ("prefill", "TensorRT-LLM, an older GPU", machine("A100", "13B", dialect="trtllm", arrivals=4.8, prompt=1500, output=20, launch=0.003)),
    ("prefill", "one without HBM", machine("L40S", "7B", arrivals=6.2, prompt=2500, output=12)),
    ("prefill", "Triton, four GPUs", machine("H100", "70B", 4, dialect="triton", arrivals=6.2, prompt=3000, output=30)),
    ("prefill", "a small GPU at its power limit", machine("L4", "8B", arrivals=1.8, prompt=1500, output=10, prefill=2950, capped=True)),
    ("decode.memory", "SGLang, a large model", machine("H200", "32B", dialect="sglang", arrivals=2.8, prompt=120, output=1200)),
    ("decode.memory", "TensorRT-LLM, newer GPU", machine("B200", "70B", dialect="trtllm", arrivals=3.0, prompt=500, output=600)),
    ("decode.memory", "TGI, which counts at the end", machine("A100", "7B", dialect="tgi", arrivals=9.5, prompt=100, output=500)),
    ("decode.memory", "a consumer's GPU, no profiling counters", machine("4090", "8B", width=0.5, arrivals=8.0, prompt=60, output=400)),
    ("decode.launch", "eager, 1.5B", machine("H100", "1.5B", arrivals=2.0, prompt=200, output=150, launch=0.018)),
    ("decode.launch", "SGLang without graphs, forty at a time", machine("GH200", "3B", dialect="sglang", arrivals=9.0, prompt=80, output=200, launch=0.022)),
    ("decode.launch", "TGI, and the GPU is seen to rest", machine("L40S", "0.5B", dialect="tgi", arrivals=5.0, prompt=100, output=250, launch=0.012, gaps=True)),
    ("decode.launch", "llama.cpp, no profiling counters", machine("4090", "0.5B", dialect="llamacpp", arrivals=0.9, prompt=100, output=250, launch=0.009, max_running=4)),
    ("cache.full", "SGLang, 13B on 40 GB", machine("A100-40", "13B", dialect="sglang", arrivals=4.0, prompt=600, output=300)),
    ("cache.full", "TensorRT-LLM, 32B on 80 GB", machine("H100", "32B", dialect="trtllm", arrivals=4.0, prompt=1200, output=400)),
    ("cache.full", "Triton, a small share for the cache", machine("L40S", "8B", dialect="triton", arrivals=5.0, prompt=250, output=350, cache=9000)),
    ("cache.full", "TGI, which says nothing of its cache", machine("A10", "7B-MHA", dialect="tgi", arrivals=4.0, prompt=900, output=200)),
    ("batch.small", "three at a time on a fast GPU", machine("B200", "8B", arrivals=3.0, prompt=300, output=400)),
    ("batch.small", "SGLang, twelve allowed", machine("H200", "32B", dialect="sglang", arrivals=3.5, prompt=400, output=300, max_running=12)),
    ("batch.small", "llama.cpp, four slots and a queue", machine("A10", "8B", width=0.55, dialect="llamacpp", arrivals=3.0, prompt=100, output=200, max_running=4)),
    ("batch.small", "two GPUs, prompts that are in the cache", machine("H100", "70B", 2, dialect="trtllm", arrivals=0.7, prompt=8000, output=300, reuse=0.95,
                                                                         cache=200_000)),
    ("host", "SGLang, a slow tokenizer", machine("H100", "1.5B", dialect="sglang", arrivals=12.0, prompt=200, output=120, front=3000)),
    ("host", "a slow detokenizer, long answers", machine("H200", "8B", arrivals=12.0, prompt=30, output=400, front=4000)),
    ("host", "TGI, no profiling counters", machine("A100", "7B", dialect="tgi", arrivals=8.0, prompt=100, output=60, front=800, counters=False)),
    ("host", "SGLang, a slow detokenizer of its own process", machine("H100", "3B", dialect="sglang", arrivals=10.0, prompt=40, output=300, front=2500, child=True)),
    ("queue.empty", "Triton, now and then", machine("H200", "8B", dialect="triton", arrivals=0.03, prompt=100, output=30)),
    ("queue.empty", "TensorRT-LLM, eight GPUs, probes", machine("H100", "70B", 8, dialect="trtllm", arrivals=0.5, prompt=8, output=2)),
    ("start.storage", "four GPUs, NVMe", machine("H100", "70B", 4, arrivals=0.0, loading=5e9)),
    ("start.network", "a network file system: both", machine("H100", "70B", 2, arrivals=0.0, loading=4.5e8, network=4.7e8)),
    ("start.network", "SGLang, a slow network", machine("A100", "8B", dialect="sglang", arrivals=0.0, network=3e8)),
]

LAST = [
    ("prefill", "TGI, summaries", machine("H100", "32B", dialect="tgi", arrivals=2.6, prompt=4000, output=50)),
    ("decode.memory", "70B in FP8", machine("GH200", "70B", width=1, arrivals=2.5, prompt=200, output=800)),
    ("decode.launch", "Triton, no graphs", machine("A100", "3B", dialect="triton", arrivals=4.0, prompt=100, output=120, launch=0.025)),
    ("cache.full", "a small GPU, a model without grouped heads", machine("L4", "7B-MHA", width=1, arrivals=1.5, prompt=1500, output=300)),
    ("batch.small", "four GPUs for nine requests", machine("A100", "70B", 4, dialect="trtllm", arrivals=1.5, prompt=300, output=300)),
    ("host", "a slow tokenizer, long prompts", machine("H100", "3B", arrivals=6.0, prompt=4000, output=60, front=20000)),
    ("host", "TensorRT-LLM, a slow detokenizer of its own process", machine("A100", "8B", dialect="trtllm", arrivals=6.0, prompt=50, output=300, front=1500,
                                                                           child=True)),
    ("queue.empty", "SGLang, hardly anybody", machine("B200", "70B", dialect="sglang", arrivals=0.02, prompt=100, output=20)),
    ("start.storage", "eight GPUs, beside some traffic", machine("H100", "70B", 8, arrivals=0.0, loading=3e8, network=2e7)),
    ("start.network", "TensorRT-LLM, a download", machine("L40S", "8B", dialect="trtllm", arrivals=0.0, network=1.1e9)),
]


def show_models():
    """Of the models alone: who runs and waits, how full the cache is, and which time is the longest of a step's."""
    for i, (want, words, load) in enumerate(SCENARIOS + LAST, 1):
        load = dict(load)
        s = Server(Load(**{k: v for k, v in load.items() if k != "warm"}), i)
        s.until(load["warm"])
        g = s.gpu()
        print(f"{want:14} run {len(s.running):4} wait {len(s.waiting):4} cache {s.cached() / s.load.cache:5.2f} busy {g['busy']:4.2f} "
              f"sm {g['sm']:4.2f} tensor {g['tensor']:4.2f} dram {g['dram']:4.2f} cpu {s.cpu / s.now:4.2f} preempted {s.preempted} {words}")


if __name__ == "__main__":
    show_models() if "--model" in sys.argv else show_all(LAST if "--last" in sys.argv else SCENARIOS)
