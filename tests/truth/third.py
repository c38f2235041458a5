"""A third set of small real programs whose limit an expert knows. `python3 third.py NAME SECONDS` runs one."""
import json
import os
import subprocess
import sys
import tempfile
import time

import numpy as np
import torch
from torch import nn

CUDA = "cuda"


def until(seconds, step, sync=True, batch=1):
    """Calls step() again and again for so long."""
    end = time.time() + seconds
    while time.time() < end:
        for _ in range(batch):
            step()
        if sync:
            torch.cuda.synchronize()


def small_vae(seconds):
    enc = nn.Sequential(nn.Conv2d(1, 16, 3, 2, 1), nn.ReLU(), nn.Conv2d(16, 32, 3, 2, 1), nn.ReLU(), nn.Flatten(),
                        nn.Linear(1568, 32)).to(CUDA)
    dec = nn.Sequential(nn.Linear(32, 256), nn.ReLU(), nn.Linear(256, 784)).to(CUDA)
    x = torch.rand(16, 1, 28, 28, device=CUDA)

    def step():
        loss = (dec(enc(x)) - x.flatten(1)).square().mean()
        loss.backward()

    until(seconds, step, batch=20)


def lstm(seconds):
    net = nn.LSTM(256, 256, 2).to(CUDA)
    x = torch.randn(1000, 8, 256, device=CUDA)
    with torch.no_grad():
        until(seconds, lambda: net(x), batch=2)


def results_to_disk(seconds):
    """Each result is saved before the next step begins."""
    x = torch.randn(64 << 20, device=CUDA)

    def step():
        y = torch.tanh(x)
        with tempfile.NamedTemporaryFile(dir=".") as out:
            np.save(out, y.cpu().numpy())
            out.flush()
            os.fsync(out.fileno())

    until(seconds, step)


def json_lines(seconds):
    lines = [json.dumps({"id": i, "tokens": list(range(200))}) for i in range(3000)]
    net = nn.Linear(200, 4096).to(CUDA)

    def step():
        rows = [json.loads(line)["tokens"] for line in lines]
        net(torch.tensor(rows, dtype=torch.float32, device=CUDA))

    until(seconds, step)


def outside_tool(seconds):
    """Another program prepares each batch."""
    net = nn.Linear(4096, 4096).to(CUDA)

    def step():
        subprocess.run(["/usr/bin/env", "python3", "-S", "-c", "sum(i * i for i in range(6000000))"], check=True)
        for _ in range(10):
            net(torch.randn(512, 4096, device=CUDA))

    until(seconds, step)


def fp64_functions(seconds):
    x = torch.rand(1 << 26, dtype=torch.float64, device=CUDA)
    until(seconds, lambda: torch.sin_(x), batch=4)


def conv_fp32(seconds):
    torch.backends.cudnn.allow_tf32 = False
    net = nn.Conv2d(256, 256, 3, padding=1).to(CUDA)
    x = torch.randn(64, 256, 56, 56, device=CUDA)
    with torch.no_grad():
        until(seconds, lambda: net(x), batch=4)


def forgotten(seconds):
    a = torch.randn(8192, 8192, device=CUDA, dtype=torch.bfloat16)
    until(0.5, lambda: a @ a, batch=5)
    time.sleep(seconds + 6)


def results_back(seconds):
    x = torch.randn(1 << 28, device=CUDA)
    until(seconds, lambda: (x * 2).cpu())


def streamed_weights(seconds):
    """Weights live on the host; each layer's are copied before it runs."""
    layers = [torch.randn(8192, 8192, dtype=torch.bfloat16).pin_memory() for _ in range(8)]
    x = torch.randn(16, 8192, device=CUDA, dtype=torch.bfloat16)

    def step():
        y = x
        for w in layers:
            y = torch.tanh(y @ w.to(CUDA, non_blocking=True))

    until(seconds, step)


def jax_scan(seconds):
    import jax
    import jax.numpy as jnp

    @jax.jit
    def roll(x, w):
        def cell(h, _):
            return jnp.tanh(h @ w), None
        return jax.lax.scan(cell, x, None, length=2000)[0]

    x, w = jnp.ones((8, 128)), jnp.eye(128)
    end = time.time() + seconds
    while time.time() < end:
        roll(x, w).block_until_ready()


def embedding(seconds):
    table = nn.EmbeddingBag(100_000_000, 64, mode="sum", device=CUDA)
    ids = torch.randint(0, 100_000_000, (1 << 22,), device=CUDA)
    offsets = torch.arange(0, 1 << 22, 32, device=CUDA)
    with torch.no_grad():
        until(seconds, lambda: table(ids, offsets), batch=10)


def compiled_blocks(seconds):
    """Layers of a transformer, forward, in bf16, large enough to fill the GPU."""
    layer = nn.TransformerEncoderLayer(2048, 16, 8192, batch_first=True, norm_first=True).to(CUDA, torch.bfloat16).eval()
    x = torch.randn(16, 1024, 2048, device=CUDA, dtype=torch.bfloat16)
    with torch.inference_mode():
        until(seconds, lambda: layer(x), batch=4)


if __name__ == "__main__":
    globals()[sys.argv[1]](float(sys.argv[2]))
