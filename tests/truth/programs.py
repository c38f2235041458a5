"""Small real programs whose limit an expert knows. `python3 programs.py NAME SECONDS` runs one.

Each does about SECONDS of its kind of work after its imports. labels.csv has what limits it.
"""
import os
import sys
import tempfile
import threading
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


def gemm(seconds, dtype, n=8192, batch=10):
    a = torch.randn(n, n, device=CUDA).to(dtype)
    b = torch.randn(n, n, device=CUDA).to(dtype)
    out = torch.empty_like(a)
    until(seconds, lambda: torch.mm(a, b, out=out), batch=batch)


def gemm_bf16(seconds):
    gemm(seconds, torch.bfloat16)


def gemm_fp32(seconds):
    torch.backends.cuda.matmul.allow_tf32 = False
    gemm(seconds, torch.float32, batch=2)


def gemm_fp64(seconds):
    gemm(seconds, torch.float64, n=4096, batch=4)


def gather(seconds):
    table = torch.randn(1 << 30, device=CUDA)
    where = torch.randint(0, 1 << 30, (1 << 26,), device=CUDA)
    until(seconds, lambda: table[where], batch=4)


def copy_device(seconds):
    a = torch.empty(1 << 32, dtype=torch.uint8, device=CUDA).random_()
    b = torch.empty_like(a)
    until(seconds, lambda: b.copy_(a), batch=4)


def softmax(seconds):
    x = torch.randn(8192, 65536, device=CUDA)
    until(seconds, lambda: torch.softmax(x, 1), batch=4)


def small_mlp():
    net = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 8)).to(CUDA)
    x = torch.randn(32, 64, device=CUDA)
    opt = torch.optim.SGD(net.parameters(), lr=1e-3)

    def step():
        opt.zero_grad(set_to_none=False)
        net(x).square().mean().backward()
        opt.step()

    return step


def mlp_eager(seconds):
    until(seconds, small_mlp(), batch=50)


def mlp_graph(seconds):
    step = small_mlp()
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        for _ in range(3):
            step()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(20):
            step()
    until(seconds, graph.replay, batch=20)


class Decoded(torch.utils.data.IterableDataset):
    """Samples that cost CPU time, as decoding pictures does."""

    def __iter__(self):
        rng = np.random.default_rng(os.getpid())
        while True:
            picture = rng.random((3, 512, 512))
            for _ in range(4):
                picture = np.sort(picture, axis=1)[:, ::-1, :]
            yield torch.from_numpy(np.ascontiguousarray(picture, dtype=np.float32))


def conv_step():
    net = nn.Sequential(nn.Conv2d(3, 32, 3, 2), nn.ReLU(), nn.Conv2d(32, 64, 3, 2), nn.ReLU(),
                        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10)).to(CUDA)
    opt = torch.optim.SGD(net.parameters(), lr=1e-3)

    def step(x):
        opt.zero_grad()
        net(x.to(CUDA, non_blocking=True)).square().mean().backward()
        opt.step()

    return step


def loader_workers(seconds):
    step = conv_step()
    end = time.time() + seconds
    for x in torch.utils.data.DataLoader(Decoded(), batch_size=16, num_workers=8, pin_memory=True):
        step(x)
        if time.time() > end:
            os._exit(0)


class Cold(torch.utils.data.Dataset):
    """Files read from the disk, not from memory."""

    def __init__(self, folder, n):
        self.paths = [os.path.join(folder, f"{i}.bin") for i in range(n)]
        block = np.random.default_rng(0).bytes(32 << 20)
        for path in self.paths:
            with open(path, "wb") as out:
                out.write(block)
                out.flush()
                os.fsync(out.fileno())

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, i):
        fd = os.open(self.paths[i], os.O_RDONLY)
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
        data = os.read(fd, 32 << 20)
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(fd)
        return torch.frombuffer(bytearray(data[:3 * 256 * 256]), dtype=torch.uint8).reshape(3, 256, 256).float()


def loader_cold(seconds):
    step = conv_step()
    end = time.time() + seconds
    with tempfile.TemporaryDirectory(dir=".") as folder:
        data = Cold(folder, 64)
        end = time.time() + seconds
        while time.time() < end:
            for x in torch.utils.data.DataLoader(data, batch_size=4, num_workers=2, shuffle=True):
                step(x)
                if time.time() > end:
                    break


def gil_threads(seconds):
    """Python threads that prepare samples in pure Python: one core in all."""
    step = conv_step()
    ready, lock, stop = [], threading.Lock(), time.time() + seconds

    def work():
        while time.time() < stop:
            total = 0
            for i in range(200000):
                total += i * i % 7
            with lock:
                ready.append(total)

    threads = [threading.Thread(target=work) for _ in range(6)]
    for t in threads:
        t.start()
    x = torch.randn(8, 3, 256, 256)
    while time.time() < stop:
        with lock:
            n = len(ready)
            ready.clear()
        for _ in range(n):
            step(x)
        time.sleep(0.005)
    for t in threads:
        t.join()


def held(seconds):
    keep = torch.zeros(20 << 30, dtype=torch.uint8, device=CUDA)
    time.sleep(seconds)
    del keep


def h2d_pageable(seconds):
    host = torch.empty(1 << 29, dtype=torch.uint8).random_()
    device = torch.empty(1 << 29, dtype=torch.uint8, device=CUDA)
    until(seconds, lambda: device.copy_(host))


def d2h_pinned(seconds):
    host = torch.empty(1 << 29, dtype=torch.uint8).pin_memory()
    device = torch.empty(1 << 29, dtype=torch.uint8, device=CUDA).random_()
    until(seconds, lambda: host.copy_(device, non_blocking=True), batch=4)


def big_mlp_step(width=4096, batch=2048, layers=8):
    net = nn.Sequential(*[m for _ in range(layers) for m in (nn.Linear(width, width), nn.GELU())])
    net = net.to(CUDA, torch.bfloat16)
    opt = torch.optim.SGD(net.parameters(), lr=1e-5)
    x = torch.randn(batch, width, device=CUDA, dtype=torch.bfloat16)

    def step():
        opt.zero_grad()
        net(x).float().square().mean().backward()
        opt.step()

    return step


def sleeping_steps(seconds):
    """Something else is waited for after each step: a lock, a queue, another machine."""
    step = big_mlp_step()

    def slow():
        for _ in range(5):
            step()
        torch.cuda.synchronize()
        time.sleep(0.4)

    until(seconds, slow)


def cpu_between(seconds):
    """Half a second of the GPU, half a second of numpy on one core, by turns."""
    step = big_mlp_step()
    data = np.random.default_rng(0).random(3_000_000)

    def turn():
        for _ in range(20):
            step()
        torch.cuda.synchronize()
        np.sort(data)
        np.sort(data[::-1])

    until(seconds, turn)


def single_thread(seconds):
    """A kernel of one thread that spins: the engine is busy, the SMs are not."""
    until(seconds, lambda: torch.cuda._sleep(50_000_000), batch=4)


def special_functions(seconds):
    """Arithmetic on values that stay in the cache: no memory traffic to speak of."""
    x = torch.rand(1 << 21, device=CUDA)
    until(seconds, lambda: torch.special.zeta(x + 2, x + 1), batch=20)


def int8_layout(seconds):
    a = torch.randint(-8, 8, (8192, 8192), dtype=torch.int8, device=CUDA)
    b = torch.randint(-8, 8, (8192, 8192), dtype=torch.int8, device=CUDA)
    until(seconds, lambda: torch._int_mm(a, b), batch=4)


def elementwise(seconds):
    x = torch.randn(1 << 28, device=CUDA)
    y = torch.randn(1 << 28, device=CUDA)

    def step():
        nonlocal x
        x = torch.tanh(x * 0.5 + y)
        x = torch.nn.functional.layer_norm(x.view(-1, 4096), (4096,)).view(-1)

    until(seconds, step, batch=4)


def attention(seconds):
    q, k, v = (torch.randn(8, 32, 4096, 128, device=CUDA, dtype=torch.bfloat16) for _ in range(3))
    until(seconds, lambda: nn.functional.scaled_dot_product_attention(q, k, v), batch=4)


def item_each(seconds):
    """A small operation, then its result on the host, again and again."""
    x = torch.randn(256, 256, device=CUDA)
    until(seconds, lambda: (x @ x).sum().item(), sync=False)


def checkpoints(seconds):
    net = nn.Sequential(*[nn.Linear(8192, 8192) for _ in range(6)]).to(CUDA)
    x = torch.randn(64, 8192, device=CUDA)

    def epoch():
        for _ in range(20):
            net(x)
        torch.cuda.synchronize()
        with tempfile.NamedTemporaryFile(dir=".") as out:
            torch.save(net.state_dict(), out)
            out.flush()
            os.fsync(out.fileno())

    until(seconds, epoch)


def slow_build(seconds):
    """Nearly all of it is start-up: a model made and filled on the CPU, then a moment of work."""
    net = nn.Sequential(*[nn.Linear(4096, 4096) for _ in range(40)])
    end = time.time() + seconds - 1
    while time.time() < end:
        for layer in net:
            nn.init.trunc_normal_(layer.weight)
            if time.time() > end:
                break
    net = net.to(CUDA, torch.bfloat16)
    x = torch.randn(4096, 4096, device=CUDA, dtype=torch.bfloat16)
    until(0.7, lambda: net(x))


def two_small(seconds):
    """Two processes that share the GPU, each with small kernels."""
    pid = os.fork()
    step = small_mlp()
    until(seconds, step, batch=50)
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)


def jax_steps(seconds):
    import jax
    import jax.numpy as jnp

    @jax.jit
    def step(w, x):
        return w - 1e-3 * jax.grad(lambda w: jnp.mean(jnp.tanh(x @ w) ** 2))(w)

    w, x = jnp.ones((64, 64)), jnp.ones((32, 64))
    end = time.time() + seconds
    while time.time() < end:
        for _ in range(100):
            w = step(w, x)
        w.block_until_ready()


def jax_recompile(seconds):
    """A new shape each time: the compiler works, the GPU hardly does."""
    import jax
    import jax.numpy as jnp
    end = time.time() + seconds
    n = 100
    while time.time() < end:
        n += 1
        f = jax.jit(lambda x: jnp.linalg.norm(jnp.tanh(x @ x.T) @ x + jnp.sin(x)))
        f(jnp.ones((n, n))).block_until_ready()


def main():
    name, seconds = sys.argv[1], float(sys.argv[2])
    globals()[name](seconds)


if __name__ == "__main__":
    main()
