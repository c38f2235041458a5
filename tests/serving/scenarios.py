"""Thirty servers and what limits each, said before assay has seen them. `python3 scenarios.py` judges all and counts: right,
unknown, misleading."""
import concurrent.futures
import json
import os
import subprocess
import sys
import tempfile

from model import Load
from play import Player

SCENARIOS = [
    ("prefill", "prompts of 3500 tokens, short answers", dict(arrivals=5.0, prompt=3500, output=16)),
    ("prefill", "prompts of 8000 tokens, larger chunks", dict(arrivals=2.3, prompt=8000, output=30, chunk=4096, cache=1_000_000)),
    ("prefill", "classification: hardly any answer", dict(arrivals=10.0, prompt=1800, output=6)),
    ("prefill", "a smaller GPU", dict(arrivals=6.0, prompt=1200, output=40, prefill=8000)),
    ("decode.memory", "a chat with sixty at a time", dict(arrivals=20.0, prompt=200, output=400)),
    ("decode.memory", "large weights", dict(arrivals=4.0, prompt=200, output=500, weights=0.02)),
    ("decode.memory", "long contexts are read", dict(arrivals=4.0, prompt=800, output=800, per_sequence=2e-5)),
    ("decode.memory", "the same without profiling counters", dict(arrivals=20.0, prompt=200, output=400, counters=False)),
    ("decode.launch", "no CUDA graphs", dict(arrivals=2.0, prompt=200, output=100, weights=0.003, launch=0.02)),
    ("decode.launch", "no CUDA graphs, more requests", dict(arrivals=8.0, prompt=100, output=100, weights=0.004, launch=0.03)),
    ("decode.launch", "a small model", dict(arrivals=3.0, prompt=100, output=200, weights=0.0015, launch=0.012)),
    ("decode.launch", "no CUDA graphs, no profiling counters", dict(arrivals=1.0, prompt=50, output=100, weights=0.001, launch=0.03, counters=False)),
    ("cache.full", "memory for ten requests", dict(arrivals=10.0, prompt=500, output=300, cache=8000)),
    ("cache.full", "long prompts", dict(arrivals=4.0, prompt=2000, output=400, cache=24000)),
    ("cache.full", "a large model that leaves little", dict(arrivals=3.0, prompt=1500, output=600, weights=0.02, cache=40000)),
    ("cache.full", "answers that grow: preemptions", dict(arrivals=8.0, prompt=100, output=600, cache=9000)),
    ("batch.small", "seven at a time", dict(arrivals=5.0)),
    ("batch.small", "two at a time, large weights", dict(arrivals=0.5, prompt=300, output=200, weights=0.02)),
    ("batch.small", "eight allowed, and a queue", dict(arrivals=8.0, prompt=200, output=200, max_running=8)),
    ("batch.small", "one long answer after the other", dict(arrivals=1.2, prompt=100, output=500, weights=0.008)),
    ("host", "a slow tokenizer", dict(arrivals=10.0, prompt=300, output=100, front=1500)),
    ("host", "a slow detokenizer", dict(arrivals=20.0, prompt=20, output=300, front=2500, weights=0.004)),
    ("host", "a slow front end, few requests", dict(arrivals=6.0, prompt=50, output=100, front=500)),
    ("host", "a slow tokenizer, no profiling counters", dict(arrivals=10.0, prompt=300, output=100, front=1500, counters=False)),
    ("queue.empty", "nobody asks", dict(arrivals=0.0)),
    ("queue.empty", "a request in twenty seconds", dict(arrivals=0.05, output=50)),
    ("queue.empty", "a short request now and then", dict(arrivals=0.2, output=60)),
    ("start.storage", "weights from a local disk", dict(arrivals=0.0, loading=2e9)),
    ("start.network", "weights over the network", dict(arrivals=0.0, network=8e8)),
    ("start.storage", "weights from a slow disk", dict(arrivals=0.0, loading=6e8)),
]


def judge(assay, load, seed=1):
    """What assay says of a server: its limiter, and all that JSON says."""
    load = dict(load)
    warm = load.pop("warm", 30.0)
    with tempfile.TemporaryDirectory() as root, Player(Load(**load), root, seed, warm) as p:
        done = subprocess.run([assay, "once", "--json", *p.options()], capture_output=True, text=True, timeout=60)
        if done.returncode != 0:
            return "failed", done.stderr
        engine, = json.loads(done.stdout)["engines"]
        return engine["limit"]["limiter"], engine


def judge_all(assay, scenarios, at_a_time=3):
    with concurrent.futures.ProcessPoolExecutor(at_a_time) as pool:
        return list(pool.map(judge, [assay] * len(scenarios), [load for _, _, load in scenarios], range(1, len(scenarios) + 1)))


def show_all(scenarios):
    results = judge_all(os.environ.get("ASSAY", "build/assay"), scenarios)
    right = unknown = 0
    for (want, words, _), (got, engine) in zip(scenarios, results):
        right += got == want
        unknown += got == "unknown"
        print(f"{'  ' if got == want else '! '}{want:14} {got:14} {words}")
        if got != want and "-v" in sys.argv:
            print("    ", engine)
    print(f"{right} of {len(scenarios)} right, {unknown} unknown, {len(scenarios) - right - unknown} misleading")


if __name__ == "__main__":
    show_all(SCENARIOS)
