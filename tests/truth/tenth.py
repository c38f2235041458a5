"""A tenth set of small real programs, whose limit and whose line an expert knows, to be recorded with and without profiling counters (both.py).

`python3 tenth.py NAME SECONDS` runs one. What is accepted of each is in tenth.csv, and the lines in lines.csv, both written before any of them ran.
"""
import io
import logging
import os
import re
import subprocess
import sys
import time
import zlib
from concurrent import futures

from fifth import CUDA, until


def experts(seconds):
    """Sixteen experts of a transformer's layer as one batched product in bf16, and the loss read each time."""
    import torch
    weights = torch.randn(16, 4096, 8192, device=CUDA, dtype=torch.bfloat16)
    tokens = torch.randn(16, 2048, 4096, device=CUDA, dtype=torch.bfloat16)
    out = torch.empty(16, 2048, 8192, device=CUDA, dtype=torch.bfloat16)

    def step():
        for _ in range(8):
            torch.bmm(tokens, weights, out=out)
        out[0, 0, 0].item()

    until(seconds, step)


def transposes(seconds):
    """A matrix of 4 GB written transposed, and back."""
    import torch
    a = torch.rand(1 << 15, 1 << 15, device=CUDA)
    b = torch.empty_like(a)
    until(seconds, lambda: [b.copy_(a.t()) for _ in range(10)])


def regex_clean(seconds):
    """Texts are cleaned with regular expressions before each small step."""
    import torch
    net = torch.nn.EmbeddingBag(5000, 256).to(CUDA)
    texts = [f"Item {i}: <b>price</b> {i * 37 % 1000}.99 &amp; more,   see http://x{i}.example/{i}" * 20 for i in range(200)]

    def step():
        clean = [re.sub(r"<[^>]+>|&\w+;|https?://\S+|\s+", " ", text) for text in texts]
        net(torch.tensor([[len(text) % 5000 for text in clean]], device=CUDA)).sum().backward()

    until(seconds, step)


def pool_inflate(seconds):
    """Four threads inflate the parts of each batch, in C without the interpreter's lock."""
    import torch
    parts = [zlib.compress(os.urandom(1 << 20) + bytes(7 << 20)) for _ in range(8)]
    pool = futures.ThreadPoolExecutor(4)

    def inflate(part):
        return zlib.decompress(part)

    def step():
        batch = list(pool.map(inflate, parts))
        torch.frombuffer(bytearray(batch[0][:1 << 20]), dtype=torch.uint8).to(CUDA).float().sum().item()

    until(seconds, step)


def sort_tool(seconds):
    """Another program sorts the words of each batch."""
    import torch
    words = "\n".join(str(i * 7919 % 1000003) for i in range(200000))

    def step():
        out = subprocess.run(["sort", "-n"], input=words, capture_output=True, text=True, check=True).stdout
        torch.tensor([len(out)], device=CUDA).float().sum().item()

    until(seconds, step)


def log_lines(seconds):
    """Each small step writes two hundred lines to a log."""
    import torch
    log = logging.getLogger("train")
    log.addHandler(logging.StreamHandler(io.StringIO()))
    log.setLevel(logging.INFO)
    x = torch.rand(64, 64, device=CUDA)

    def step():
        for i in range(200):
            log.info("sample %d of the batch: weight %.4f, length %d", i, i / 7, i * 3)
        (x @ x).sum().item()

    until(seconds, step)


def polled_file(seconds):
    """The program looks every 20 ms whether its next batch has been written, which takes half a second."""
    import torch
    x = torch.rand(2048, 2048, device=CUDA)

    def step():
        ready = time.time() + 0.5
        while time.time() < ready:
            time.sleep(0.02)
        (x @ x).sum().item()

    until(seconds, step)


def jax_orbit(seconds):
    """A jitted product in single precision, waited for each time."""
    import jax
    import jax.numpy as jnp
    with jax.default_matmul_precision("highest"):
        orbit = jax.jit(lambda a: jnp.tanh(a @ a * 1e-4))
        a = jax.block_until_ready(orbit(jnp.ones((8192, 8192), jnp.float32)))
        end = time.time() + seconds
        while time.time() < end:
            a = orbit(a)
            a.block_until_ready()


if __name__ == "__main__":
    globals()[sys.argv[1]](float(sys.argv[2]))
