"""An eighth set of small real programs whose limit an expert knows. `python3 eighth.py NAME SECONDS` runs one.

What is accepted of each is in labels.csv, written before any of them ran.
"""
import multiprocessing
import os
import queue
import random
import sys
import threading
import time

from fifth import CUDA, until


def tiny_microbatches(seconds):
    """Training that gathers the gradients of 64 micro-batches of one short text each, with a loss asked for after each."""
    import torch
    from torch import nn
    net = nn.TransformerEncoder(nn.TransformerEncoderLayer(256, 8, 1024, dropout=0.0, batch_first=True), 8).to(CUDA)
    opt = torch.optim.AdamW(net.parameters(), lr=1e-4)
    x = torch.randn(1, 32, 256, device=CUDA)
    told = []

    def step():
        total = 0.0
        for _ in range(64):
            loss = net(x).square().mean() / 64
            loss.backward()
            total += loss.item()
        told.append((total, torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0).item()))
        opt.step()
        opt.zero_grad()

    until(seconds, step)


def packer(out):
    """Puts batches that are at hand into a queue; pickling and the pipe are all there is to do."""
    import numpy as np
    rng = np.random.default_rng(os.getpid())
    kept = [rng.random((4096, 4096), dtype=np.float32) for _ in range(2)]
    turn = 0
    while True:
        out.put(kept[turn % 2])
        turn += 1


def pickled_queue(seconds):
    """Four processes hand numpy batches of 64 MB over a multiprocessing.Queue: pickled, through a pipe, unpickled by one reader."""
    import torch
    spawn = multiprocessing.get_context("spawn")
    batches = spawn.Queue(4)
    packers = [spawn.Process(target=packer, args=(batches,), daemon=True) for _ in range(4)]
    for p in packers:
        p.start()
    net = torch.nn.Linear(4096, 1024).to(CUDA)

    def step():
        net(torch.from_numpy(batches.get()).to(CUDA)).mean().backward()

    until(seconds, step)
    for p in packers:
        p.terminate()
    for p in packers:
        p.join()


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


def int8_dequant(seconds):
    """A language model with 8-bit weights writes word by word: each layer's weights are turned into bf16, scaled and multiplied, eager."""
    import torch
    n = 8192
    layers = [(torch.randint(-127, 127, (n, n), device=CUDA, dtype=torch.int8),
               torch.full((n, 1), 1e-4, device=CUDA, dtype=torch.bfloat16)) for _ in range(48)]
    first = torch.randn(4, n, device=CUDA, dtype=torch.bfloat16)

    def step():
        x = first
        for q, scale in layers:
            w = q.to(torch.bfloat16) * scale
            x = torch.nn.functional.layer_norm(x + x @ w.t(), (n,))

    with torch.inference_mode():
        until(seconds, step, batch=4)


def beam_deposit(seconds):
    """Particles in a cell: 33 million of a narrow beam leave charge and currents on a grid in float64, all on the same few cells."""
    import torch
    n, side = 1 << 25, 128
    x, y, vx, vy = (torch.randn(n, device=CUDA, dtype=torch.float64) for _ in range(4))
    fields = torch.zeros(3, side * side, device=CUDA, dtype=torch.float64)

    def step():
        vx.sub_(x, alpha=0.02)
        vy.sub_(y, alpha=0.02)
        x.add_(vx, alpha=0.02)
        y.add_(vy, alpha=0.02)
        column, row = (x + side / 2).clamp_(1, side - 3), (y + side / 2).clamp_(1, side - 3)
        i, j = column.floor(), row.floor()
        cell = (j * side + i).long()
        right, below = column - i, row - j
        fields.zero_()
        for d, share in ((0, (1 - right) * (1 - below)), (1, right * (1 - below)), (side, (1 - right) * below), (side + 1, right * below)):
            to = cell + d
            fields[0].scatter_add_(0, to, share)
            fields[1].scatter_add_(0, to, share * vx)
            fields[2].scatter_add_(0, to, share * vy)

    until(seconds, step)


def ssm_graph(seconds):
    """A state space model reads one sequence word by word in float32: a CUDA graph of thousands of kernels on 32,768 numbers."""
    import torch
    length, channels, states = 2048, 2048, 16
    decay = torch.rand(length, channels, states, device=CUDA)
    drive = torch.randn(length, channels, states, device=CUDA)
    read = torch.randn(length, states, device=CUDA)
    out = torch.empty(length, channels, device=CUDA)
    h = torch.zeros(channels, states, device=CUDA)

    def scan(words):
        h.zero_()
        for t in range(words):
            h.mul_(decay[t]).add_(drive[t])
            torch.sum(h * read[t], -1, out=out[t])

    with torch.inference_mode():
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            scan(8)
        torch.cuda.current_stream().wait_stream(side)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            scan(length)
        until(seconds, graph.replay, batch=4)


def locked_turns(seconds):
    """Three processes take the GPU by turns: whoever has the lock of a file multiplies large matrices for 0.2 s, the others wait."""
    import fcntl
    others = []
    for _ in range(2):
        pid = os.fork()
        if pid == 0:
            others = None
            break
        others.append(pid)
    import torch
    a = torch.randn(8192, 8192, device=CUDA, dtype=torch.bfloat16)
    out = torch.empty_like(a)

    def step():
        with open("gpu.lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            for _ in range(120):
                torch.mm(a, a, out=out)
            torch.cuda.synchronize()
        time.sleep(0.01)

    until(seconds, step)
    if others is None:
        os._exit(0)
    for pid in others:
        os.waitpid(pid, 0)


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


def answerer(pipe):
    """A process with the GPU: multiplies for some milliseconds for each text that it is given."""
    import torch
    a = torch.randn(4096, 4096, device=CUDA, dtype=torch.bfloat16)
    table = torch.randn(65536, 64, device=CUDA)
    a @ a
    torch.cuda.synchronize()
    pipe.send("ready")
    while True:
        ids = pipe.recv()
        if ids is None:
            return
        for _ in range(12):
            a @ a
        pipe.send(table[torch.tensor(ids, device=CUDA)].mean().item())


def parent_feeds(seconds):
    """Four processes hold the GPU and wait; their parent, which has no GPU, splits the texts for them in plain Python."""
    spawn = multiprocessing.get_context("spawn")
    workers = []
    for _ in range(4):
        here, there = spawn.Pipe()
        p = spawn.Process(target=answerer, args=(there,), daemon=True)
        p.start()
        workers.append((p, here))
    for _, pipe in workers:
        pipe.recv()
    text = " ".join(f"Word{i * 7919 % 10007}," for i in range(40000))
    pending = [False] * len(workers)
    turn = 0
    end = time.time() + seconds
    while time.time() < end:
        ids, known = [], {}
        for word in text.split():
            word = word.strip(",.").lower()
            number = known.setdefault(word, len(known))
            for c in word:
                number = (number * 31 + ord(c)) & 65535
            ids.append(number)
        k = turn % len(workers)
        if pending[k]:
            workers[k][1].recv()
        workers[k][1].send(ids[:4096])
        pending[k] = True
        turn += 1
    for (p, pipe), waits in zip(workers, pending):
        if waits:
            pipe.recv()
        pipe.send(None)
        p.join()


def gil_hog(seconds):
    """A thread counts words in plain Python all the while; each small operation of the training beside it waits for the interpreter."""
    import torch
    from torch import nn
    net = nn.Sequential(*(m for _ in range(4) for m in (nn.Linear(512, 512), nn.ReLU()))).to(CUDA)
    opt = torch.optim.SGD(net.parameters(), lr=1e-3)
    x = torch.randn(256, 512, device=CUDA)
    stop = threading.Event()
    words = [f"w{i * 7919 % 10007}" for i in range(50000)]

    def count():
        while not stop.is_set():
            counts = {}
            for word in words:
                counts[word] = counts.get(word, 0) + 1

    def step():
        opt.zero_grad()
        net(x).square().mean().backward()
        opt.step()

    thread = threading.Thread(target=count, daemon=True)
    thread.start()
    until(seconds, step)
    stop.set()
    thread.join()


def shard_thread(seconds):
    """One thread reads shards of 64 MB ahead, from the disk and not from memory, into pinned buffers; the training waits for it."""
    import torch
    size = 64 << 20
    block = os.urandom(1 << 20) * (size >> 20)
    names = [f"shard{k}.bin" for k in range(16)]
    for name in names:
        with open(name, "wb") as out:
            out.write(block)
            out.flush()
            os.fsync(out.fileno())
            os.posix_fadvise(out.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    net = torch.nn.Linear(4096, 128).to(CUDA)
    free, full, stop = queue.Queue(), queue.Queue(), threading.Event()
    for _ in range(3):
        free.put(torch.zeros(size, dtype=torch.uint8).pin_memory())

    def read():
        turn = 0
        while not stop.is_set():
            try:
                buffer = free.get(timeout=0.2)
            except queue.Empty:
                continue
            file = os.open(names[turn % len(names)], os.O_RDONLY)
            os.preadv(file, [memoryview(buffer.numpy())], 0)
            os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
            os.close(file)
            full.put(buffer)
            turn += 1

    def step():
        buffer = full.get()
        x = buffer.to(CUDA, non_blocking=True).float().view(-1, 4096)
        net(x).mean().backward()
        torch.cuda.synchronize()
        free.put(buffer)

    thread = threading.Thread(target=read, daemon=True)
    thread.start()
    until(seconds, step)
    stop.set()
    thread.join()
    for name in names:
        os.remove(name)


if __name__ == "__main__":
    globals()[sys.argv[1]](float(sys.argv[2]))
