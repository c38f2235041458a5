"""A seventh set of small real programs whose limit an expert knows. `python3 seventh.py NAME SECONDS` runs one.

What is accepted of each is in labels.csv, written before any of them ran.
"""
import datetime
import lzma
import multiprocessing
import os
import sqlite3
import subprocess
import sys
import threading
import time

from fifth import CUDA, until


class Pictures:
    """Batches of 64 pictures that cost a worker so many turns of some 0.2 s."""

    def __init__(self, turns):
        self.turns = turns

    def __len__(self):
        return 1 << 20

    def __getitem__(self, i):
        import numpy as np
        import torch
        rng = np.random.default_rng(i)
        for _ in range(self.turns):
            batch = np.sort(rng.random((64, 3, 224, 224), dtype=np.float32), axis=3)
        return torch.from_numpy(batch)


def pictures(turns, workers):
    import torch
    return iter(torch.utils.data.DataLoader(Pictures(turns), batch_size=None, num_workers=workers, pin_memory=True))


def async_checkpoint(seconds):
    """Products at full speed; a thread writes checkpoints of 256 MB and syncs each, all the while, in nobody's way."""
    import torch
    a = torch.randn(8192, 8192, device=CUDA, dtype=torch.bfloat16)
    weights = torch.randn(1 << 26, device=CUDA)
    host = torch.empty(1 << 26).pin_memory()
    stop = threading.Event()

    def save():
        side = torch.cuda.Stream()
        while not stop.is_set():
            with torch.cuda.stream(side):
                host.copy_(weights, non_blocking=True)
            side.synchronize()
            with open("background.bin", "wb") as out:
                out.write(memoryview(host.numpy()))
                out.flush()
                os.fsync(out.fileno())
            stop.wait(0.2)

    thread = threading.Thread(target=save)
    thread.start()
    until(seconds, lambda: a @ a, batch=20)
    stop.set()
    thread.join()
    os.remove("background.bin")


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


def naive_attention(seconds):
    """Attention over 16,384 words written out: the matrix of scores is stored, scaled, masked and normalised, nothing is fused."""
    import torch
    n = 16384
    q, k, v = (torch.randn(16, n, 128, device=CUDA, dtype=torch.bfloat16) for _ in range(3))
    later = torch.ones(n, n, device=CUDA, dtype=torch.bool).triu_(1)

    def step():
        scores = q @ k.transpose(1, 2)
        scores = scores * 0.088
        scores = scores.masked_fill(later, -1e4)
        return scores.softmax(-1) @ v

    with torch.inference_mode():
        until(seconds, step, batch=4)


def cg_fp64(seconds):
    """Conjugate gradients in float64 on a grid of 384³: neighbours by slices, and the residual asked for in each iteration."""
    import torch
    n = 384
    b = torch.rand(n, n, n, device=CUDA, dtype=torch.float64)

    def laplace(p):
        q = 6 * p
        for d in range(3):
            q.narrow(d, 1, n - 1).sub_(p.narrow(d, 0, n - 1))
            q.narrow(d, 0, n - 1).sub_(p.narrow(d, 1, n - 1))
        return q

    def dot(u, w):
        return torch.dot(u.view(-1), w.view(-1)).item()

    def solve():
        x, r, p = torch.zeros_like(b), b.clone(), b.clone()
        old = dot(r, r)
        for _ in range(200):
            q = laplace(p)
            alpha = old / dot(p, q)
            x.add_(p, alpha=alpha)
            r.sub_(q, alpha=alpha)
            new = dot(r, r)
            if new < 1e-9:
                break
            p.mul_(new / old).add_(r)
            old = new

    until(seconds, solve)


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


def model_left_loaded(seconds):
    """Half a second of inference; then, the model still on the GPU, its answers are counted in plain Python, one core."""
    import torch
    weights = [torch.randn(8192, 8192, device=CUDA, dtype=torch.bfloat16) for _ in range(40)]
    x = torch.randn(2048, 8192, device=CUDA, dtype=torch.bfloat16)

    def infer():
        for w in weights:
            x @ w

    until(0.5, infer)
    words = [f"w{i * 7919 % 10007}" for i in range(200000)]
    end = time.time() + seconds
    while time.time() < end:
        counts = {}
        for word in words:
            counts[word] = counts.get(word, 0) + 1
        sorted(counts.items(), key=lambda item: (-item[1], item[0]))


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


def jax_anakin(seconds):
    """JAX: 256 poles on carts and the policy that learns from them, all on the device in one scan of small steps."""
    import jax
    import jax.numpy as jnp

    def act(w, s):
        return jnp.tanh(s @ w[0]) @ w[1]

    @jax.jit
    def learn(w, key):
        def move(carry, _):
            s, key = carry
            key, now = jax.random.split(key)
            chosen = jax.random.categorical(now, act(w, s))
            push = chosen * 2.0 - 1.0
            x, dx, angle, turn = s[:, 0], s[:, 1], s[:, 2], s[:, 3]
            turn = turn + 0.02 * (9.8 * jnp.sin(angle) - push * jnp.cos(angle))
            dx = dx + 0.02 * push
            new = jnp.stack([x + 0.02 * dx, dx, angle + 0.02 * turn, turn], 1)
            new = jnp.where(jnp.abs(new[:, 2:3]) > 0.5, 0.01, new)
            return (new, key), (s, chosen, -jnp.abs(new[:, 2]))

        key, first = jax.random.split(key)
        start = 0.05 * jax.random.normal(first, (256, 4))
        _, (seen, chosen, reward) = jax.lax.scan(move, (start, key), None, length=500)

        def loss(w):
            told = jnp.take_along_axis(jax.nn.log_softmax(act(w, seen)), chosen[..., None], -1)[..., 0]
            return -jnp.mean(told * reward)

        return [a - 1e-2 * b for a, b in zip(w, jax.grad(loss)(w))], key

    key = jax.random.PRNGKey(0)
    w = [0.1 * jax.random.normal(key, (4, 64)), 0.1 * jax.random.normal(key, (64, 2))]
    w, key = learn(w, key)
    w[0].block_until_ready()
    end = time.time() + seconds
    while time.time() < end:
        w, key = learn(w, key)
        w[0].block_until_ready()


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


def threads_infer(seconds):
    """A service with eight Python threads, each with a stream and a small net of its own, one request after the other."""
    import torch
    from torch import nn
    torch.randn(1, device=CUDA)
    end = time.time() + seconds

    def serve():
        net = nn.Sequential(*(m for _ in range(12) for m in (nn.Linear(512, 512), nn.LayerNorm(512), nn.GELU()))).to(CUDA).eval()
        with torch.inference_mode(), torch.cuda.stream(torch.cuda.Stream()):
            while time.time() < end:
                net(torch.zeros(4, 512, device=CUDA)).sum().item()

    threads = [threading.Thread(target=serve) for _ in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()


def activations_out(seconds):
    """Training whose activations wait in pinned host memory: each goes there in the forward and comes back in the backward pass."""
    import torch
    from torch import nn
    net = nn.Sequential(*(m for _ in range(6) for m in (nn.Linear(2048, 2048), nn.GELU()))).to(CUDA, torch.bfloat16)
    x = torch.randn(65536, 2048, device=CUDA, dtype=torch.bfloat16)

    def step():
        with torch.autograd.graph.save_on_cpu(pin_memory=True):
            y = net(x)
        y.sum().backward()
        for p in net.parameters():
            p.grad = None

    until(seconds, step)


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


def gloo_ranks(seconds):
    """Two ranks exchange 270 MB of gradients over the loopback with gloo after each short step."""
    os.environ["GLOO_SOCKET_IFNAME"] = "lo"
    pid = os.fork()
    import torch
    import torch.distributed as dist
    from torch import nn
    dist.init_process_group("gloo", init_method=f"file://{os.getcwd()}/meeting", rank=int(pid == 0), world_size=2,
                            timeout=datetime.timedelta(seconds=30))
    net = nn.Sequential(*(nn.Linear(4096, 4096) for _ in range(4))).to(CUDA)
    x = torch.randn(256, 4096, device=CUDA)
    weights = list(net.parameters())
    flat = torch.zeros(sum(p.numel() for p in weights) + 1).pin_memory()
    parts = list(zip(weights, flat[:-1].split([p.numel() for p in weights])))
    end = time.time() + seconds
    while True:
        net(x).square().mean().backward()
        for p, part in parts:
            part.copy_(p.grad.view(-1))
        flat[-1] = float(time.time() < end)
        dist.all_reduce(flat)
        if flat[-1].item() < 1.5:
            break
        with torch.no_grad():
            for p, part in parts:
                p.sub_(part.to(CUDA).view_as(p), alpha=1e-4)
                p.grad = None
    dist.destroy_process_group()
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)


class Archive:
    """One archive for all workers: whoever unpacks from it holds its lock."""

    def __init__(self, packed):
        self.packed, self.lock = packed, multiprocessing.get_context("fork").Lock()

    def __len__(self):
        return 1 << 20

    def __getitem__(self, i):
        import torch
        with self.lock:
            raw = lzma.decompress(self.packed)
        return torch.frombuffer(bytearray(raw), dtype=torch.uint8).view(-1, 1024)


def lock_lzma(seconds):
    """Eight loader workers unpack with lzma under one lock: seven of them wait for the eighth."""
    import numpy as np
    import torch
    packed = lzma.compress(np.random.default_rng(0).integers(0, 6, 4 << 20, dtype=np.uint8).tobytes(), preset=0)
    loader = iter(torch.utils.data.DataLoader(Archive(packed), batch_size=None, num_workers=8, multiprocessing_context="fork"))
    net = torch.nn.Sequential(torch.nn.Linear(1024, 4096), torch.nn.ReLU(), torch.nn.Linear(4096, 10)).to(CUDA)
    until(seconds, lambda: net(next(loader).to(CUDA).float()).mean().backward())


def warm_then_starved(seconds):
    """A third of the time the batches are at hand and products fill the GPU; then four workers make each, far too slowly."""
    import torch
    loader = pictures(10, 4)
    a = torch.randn(8192, 8192, device=CUDA, dtype=torch.bfloat16)
    kept = torch.zeros(64, 3, 224, 224).pin_memory()

    def step(x):
        x.to(CUDA, non_blocking=True).mean()
        for _ in range(20):
            a @ a

    until(seconds / 3, lambda: step(kept))
    until(seconds * 2 / 3, lambda: step(next(loader)))


def sqlite_metrics(seconds):
    """After each short step twenty metrics go to a database, each in a transaction of its own."""
    import torch
    net = torch.nn.Linear(2048, 2048).to(CUDA)
    x = torch.randn(256, 2048, device=CUDA)
    base = sqlite3.connect("metrics.db")
    base.execute("create table metrics (at real, name text, value real)")
    base.commit()

    def step():
        loss = net(x).square().mean()
        loss.backward()
        value = loss.item()
        for k in range(20):
            base.execute("insert into metrics values (?, ?, ?)", (time.time(), f"m{k}", value))
            base.commit()

    until(seconds, step)
    base.close()
    os.remove("metrics.db")


def fresh_processes(seconds):
    """A suite of tests, each in a Python of its own: it imports PyTorch, opens the GPU, computes for a fifth of a second and ends."""
    end = time.time() + seconds
    while time.time() < end:
        subprocess.run([sys.executable, os.path.abspath(__file__), "one_test", "0.2"], check=True)


def one_test(seconds):
    """One of the tests of fresh_processes."""
    import torch
    x = torch.randn(1024, 1024, device=CUDA)
    until(seconds, lambda: (x @ x).sum().item())


if __name__ == "__main__":
    globals()[sys.argv[1]](float(sys.argv[2]))
