"""Programs that nobody has labelled, or whose recordings were not kept. `python3 run.py NAME SECONDS` runs one."""
import os
import random
import subprocess
import sys
import time

from common import CUDA, pictures, until

RUN = os.path.join(os.path.dirname(os.path.abspath(__file__)), "run.py")


def loader_keeps_up(seconds):
    """Eight loader workers with real work to do, which they finish before the products of the step are done."""
    import torch
    loader = pictures(1, 8)
    a = torch.randn(8192, 8192, device=CUDA, dtype=torch.bfloat16)

    def step():
        next(loader).to(CUDA, non_blocking=True).mean()
        for _ in range(60):
            a @ a

    until(seconds, step)


def kmeans(seconds):
    """Eight million points of 32 numbers and 1,024 centres: the distances are written out, then searched."""
    import torch
    x = torch.randn(1 << 23, 32, device=CUDA)
    centres = x[:1024].clone()

    def step():
        sums, counts = torch.zeros_like(centres), torch.zeros(1024, device=CUDA)
        for rows in x.split(1 << 20):
            squares = (rows * rows).sum(1, keepdim=True) - (2 * rows) @ centres.t() + (centres * centres).sum(1)
            at = squares.argmin(1)
            sums.index_add_(0, at, rows)
            counts.index_add_(0, at, torch.ones(len(rows), device=CUDA))
        centres.copy_(sums / counts.clamp(min=1).unsqueeze(1))

    until(seconds, step)


def strided_columns(seconds):
    """Features are scaled column by column, from a table of 8 GB that is stored row by row."""
    import torch
    table = torch.rand(1 << 24, 128, device=CUDA)
    column = torch.empty(1 << 24, device=CUDA)

    def step():
        for k in range(128):
            torch.sub(table[:, k], 0.5, out=column)
            torch.mul(column, 2.0, out=table[:, k])

    until(seconds, step)


def jax_options(seconds):
    """JAX: 16 million paths of a price in float32; numbers from a hash, then logarithm, root, cosine and exponential, fused."""
    import jax
    import jax.numpy as jnp
    n = 1 << 24

    def uniform(h):
        h = (h ^ (h >> 16)) * jnp.uint32(0x7feb352d)
        h = (h ^ (h >> 15)) * jnp.uint32(0x846ca68b)
        h = h ^ (h >> 16)
        return (h >> 8).astype(jnp.float32) * 2.0 ** -24 + 2.0 ** -25

    @jax.jit
    def paths(price):
        path = jnp.arange(n, dtype=jnp.uint32)

        def move(i, price):
            base = path + i.astype(jnp.uint32) * jnp.uint32(0x9e3779b9)
            for k in range(16):
                u, v = uniform(base + jnp.uint32(2 * k * n)), uniform(base + jnp.uint32((2 * k + 1) * n))
                normal = jnp.sqrt(-2.0 * jnp.log(u)) * jnp.cos(6.2831853 * v)
                price = price * jnp.exp(0.01 * normal - 5e-5)
            return price

        return jax.lax.fori_loop(0, 16, move, price)

    start = jnp.full((n,), 100.0, jnp.float32)
    paths(start).block_until_ready()
    end = time.time() + seconds
    while time.time() < end:
        for _ in range(4):
            last = paths(start)
        last.block_until_ready()


def moe_experts(seconds):
    """A mixture of 64 experts, eager: for each expert Python asks which words are its own, and multiplies these few."""
    import torch
    x = torch.randn(512, 512, device=CUDA, dtype=torch.bfloat16)
    gate = torch.randn(512, 64, device=CUDA, dtype=torch.bfloat16)
    up = torch.randn(64, 512, 1024, device=CUDA, dtype=torch.bfloat16) * 0.04
    down = torch.randn(64, 1024, 512, device=CUDA, dtype=torch.bfloat16) * 0.03

    def step():
        share, chosen = (x @ gate).float().softmax(1).topk(2)
        out = torch.zeros_like(x)
        for e in range(64):
            row, place = torch.where(chosen == e)
            if len(row):
                y = torch.nn.functional.gelu(x[row] @ up[e]) @ down[e]
                out.index_add_(0, row, y * share[row, place].unsqueeze(1).to(y.dtype))

    with torch.inference_mode():
        until(seconds, step, batch=5)


def model_swap(seconds):
    """A service with six models and room for one: for each request another is loaded from its file, which is in the page cache."""
    import torch
    names = [f"model{k}.pt" for k in range(6)]
    for name in names:
        torch.save({f"w{i}": torch.full((4096, 4096), 0.01) for i in range(4)}, name)
    x = torch.randn(64, 4096, device=CUDA)
    turn = 0

    def step():
        nonlocal turn
        turn += 1
        y = x
        for w in torch.load(names[turn % 6], map_location="cpu", weights_only=True).values():
            y = torch.tanh(y @ w.to(CUDA))
        y.sum().item()

    until(seconds, step)
    for name in names:
        os.remove(name)


def fresh_processes(seconds):
    """A suite of tests, each in a Python of its own: it imports PyTorch, opens the GPU, computes for a fifth of a second and ends."""
    end = time.time() + seconds
    while time.time() < end:
        subprocess.run([sys.executable, RUN, "one_test", "0.2"], check=True)


def one_test(seconds):
    """One of the tests of fresh_processes."""
    import torch
    x = torch.randn(1024, 1024, device=CUDA)
    until(seconds, lambda: (x @ x).sum().item())


def memmap_tokens(seconds):
    """Texts are cut out of a mapped file that is in the page cache, one by one, in the training process; the model is small."""
    import numpy as np
    import torch
    from torch import nn
    rng = np.random.default_rng(0)
    with open("train.bin", "wb") as out:
        for _ in range(16):
            rng.integers(0, 50000, 1 << 24, dtype=np.uint16).tofile(out)
    batch, block = 256, 1024
    words, head = nn.Embedding(50000, 32).to(CUDA), nn.Linear(32, 50000).to(CUDA)
    opt = torch.optim.SGD([*words.parameters(), *head.parameters()], lr=1e-2)

    def get_batch():
        data = np.memmap("train.bin", dtype=np.uint16, mode="r")  # opened again for each batch, or memory grows
        at = torch.randint(len(data) - block - 1, (batch,)).tolist()
        x = torch.stack([torch.from_numpy(data[i:i + block].astype(np.int64)) for i in at])
        y = torch.stack([torch.from_numpy(data[i + 1:i + 1 + block].astype(np.int64)) for i in at])
        return x.pin_memory().to(CUDA, non_blocking=True), y.pin_memory().to(CUDA, non_blocking=True)

    def step():
        x, y = get_batch()
        loss = nn.functional.cross_entropy(head(words(x).mean(1)), y[:, -1])
        opt.zero_grad()
        loss.backward()
        opt.step()

    until(seconds, step)
    os.remove("train.bin")


def jax_float_metrics(seconds):
    """JAX: after each short jitted step nineteen metrics are turned into Python floats, each waited for by itself."""
    import jax
    import jax.numpy as jnp

    @jax.jit
    def learn(w, x, y):
        def loss(w):
            h = x
            for a in w[:-1]:
                h = jnp.tanh(h @ a)
            return jnp.mean((h @ w[-1] - y) ** 2)

        value, grads = jax.value_and_grad(loss)(w)
        told = {"loss": value}
        for k, (a, g) in enumerate(zip(w, grads)):
            told[f"weight{k}"] = jnp.sqrt(jnp.sum(a * a))
            told[f"gradient{k}"] = jnp.sqrt(jnp.sum(g * g))
            told[f"largest{k}"] = jnp.max(jnp.abs(g))
        return [a - 1e-3 * g for a, g in zip(w, grads)], told

    key = jax.random.PRNGKey(0)
    w = [0.05 * jax.random.normal(key, (256, 256)) for _ in range(6)]
    x, y = jnp.ones((128, 256)), jnp.zeros((128, 256))
    w, told = learn(w, x, y)
    jax.block_until_ready(told)
    history = []
    end = time.time() + seconds
    while time.time() < end:
        w, told = learn(w, x, y)
        history.append({name: float(value) for name, value in told.items()})


def page_swap(seconds):
    """A cache of keys and values is swapped to pinned host memory and back, page by page, 32 KB each, in a loop of Python."""
    import torch
    gpu = torch.zeros(32768, 16, 8, 128, device=CUDA, dtype=torch.bfloat16)
    host = torch.zeros(16384, 16, 8, 128, dtype=torch.bfloat16).pin_memory()
    rng = random.Random(0)

    def step():
        for i, j in zip(rng.sample(range(len(gpu)), 2000), rng.sample(range(len(host)), 2000)):
            host[j].copy_(gpu[i], non_blocking=True)
        for i, j in zip(rng.sample(range(len(gpu)), 2000), rng.sample(range(len(host)), 2000)):
            gpu[i].copy_(host[j], non_blocking=True)
        gpu[:1024].float().mean()

    until(seconds, step)
