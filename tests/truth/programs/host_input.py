"""Programs whose first accepted limiter is host.input. `python3 run.py NAME SECONDS` runs one."""
import lzma
import multiprocessing
import os
import queue
import random
import subprocess
import threading
import time
import zlib
from concurrent import futures

import numpy as np
import torch

from common import CUDA, conv_step, pictures, until


class Decoded(torch.utils.data.IterableDataset):
    """Samples that cost CPU time, as decoding pictures does."""

    def __iter__(self):
        rng = np.random.default_rng(os.getpid())
        while True:
            picture = rng.random((3, 512, 512))
            for _ in range(4):
                picture = np.sort(picture, axis=1)[:, ::-1, :]
            yield torch.from_numpy(np.ascontiguousarray(picture, dtype=np.float32))


def loader_workers(seconds):
    import torch
    step = conv_step()
    end = time.time() + seconds
    for x in torch.utils.data.DataLoader(Decoded(), batch_size=16, num_workers=8, pin_memory=True):
        step(x)
        if time.time() > end:
            os._exit(0)


def producer(out):
    import numpy as np
    rng = np.random.default_rng(os.getpid())
    while True:
        out.put(np.sort(rng.random((64, 65536), dtype=np.float32), axis=1))


def queue_of_processes(seconds):
    """Batches come from processes of the program's own making."""
    import torch
    from torch import nn
    context = multiprocessing.get_context("fork")
    batches = context.Queue(8)
    workers = [context.Process(target=producer, args=(batches,), daemon=True) for _ in range(6)]
    for w in workers:
        w.start()
    net = nn.Sequential(nn.Linear(65536, 512), nn.ReLU(), nn.Linear(512, 10)).to(CUDA)
    until(seconds, lambda: net(torch.from_numpy(batches.get()).to(CUDA)).mean().backward())
    for w in workers:
        w.kill()
    os._exit(0)


def threads_that_compute(seconds):
    """Loader threads whose numpy work leaves the interpreter free."""
    import numpy as np
    import torch
    from torch import nn
    batches = queue.Queue(8)
    stop = time.time() + seconds

    def work():
        rng = np.random.default_rng(threading.get_ident() % 1000)
        while time.time() < stop:
            try:
                batches.put(np.sort(rng.random((32, 131072), dtype=np.float32), axis=1), timeout=0.5)
            except queue.Full:
                pass

    for _ in range(6):
        threading.Thread(target=work, daemon=True).start()
    net = nn.Linear(131072, 256).to(CUDA)
    until(seconds - 1, lambda: net(torch.from_numpy(batches.get()).to(CUDA)).mean().backward())


def outside_tool(seconds):
    """Another program prepares each batch."""
    import torch
    from torch import nn
    net = nn.Linear(4096, 4096).to(CUDA)

    def step():
        subprocess.run(["/usr/bin/env", "python3", "-S", "-c", "sum(i * i for i in range(6000000))"], check=True)
        for _ in range(10):
            net(torch.randn(512, 4096, device=CUDA))

    until(seconds, step)


def simulator(pipe):
    """Plays one pole on a cart after the other, in Python, as slowly as simulators are."""
    state = [0.0] * 4
    while True:
        push = pipe.recv()
        for _ in range(20000):
            state[0] += 0.02 * state[1]
            state[1] += 0.02 * (push - state[0])
            state[2] = (state[2] + state[3]) % 3.0
            state[3] = random.random() - 0.5
        pipe.send(list(state))


def rl_vector(seconds):
    """Reinforcement learning: eight simulators in processes, a policy on the GPU that waits for them."""
    context = multiprocessing.get_context("fork")
    pipes = []
    for _ in range(8):
        here, there = context.Pipe()
        context.Process(target=simulator, args=(there,), daemon=True).start()
        pipes.append(here)
    import torch
    from torch import nn
    net = nn.Sequential(nn.Linear(4, 256), nn.Tanh(), nn.Linear(256, 1)).to(CUDA)
    actions = [0.1] * len(pipes)

    def step():
        nonlocal actions
        for pipe, push in zip(pipes, actions):
            pipe.send(push)
        seen = torch.tensor([pipe.recv() for pipe in pipes], device=CUDA)
        actions = net(seen).squeeze(1).tolist()

    until(seconds, step)
    os._exit(0)


def remote_loader(seconds):
    """Eight workers that each wait 0.4 s for a batch, as for a store far away; a step takes 10 ms."""
    import torch

    class Far(torch.utils.data.Dataset):
        def __len__(self):
            return 1 << 20

        def __getitem__(self, i):
            time.sleep(0.4)
            return torch.zeros(256, 1024)

    net = torch.nn.Linear(1024, 8192).to(CUDA)
    loader = iter(torch.utils.data.DataLoader(Far(), batch_size=None, num_workers=8))

    def step():
        x = next(loader).to(CUDA)
        for _ in range(20):
            net(x).relu_().sum().backward()

    until(seconds, step)


def pool_features(seconds):
    """Features by a pool of six processes, waited for, then a cheap step."""
    import torch
    net = torch.nn.Linear(1000, 1000).to(CUDA)
    with multiprocessing.get_context("spawn").Pool(6) as pool:

        def step():
            rows = pool.map(feature, range(24))
            net(torch.tensor(rows, device=CUDA)).sum().backward()

        until(seconds, step)


def feature(k):
    total = [0.0] * 1000
    for i in range(40000):
        total[i % 1000] += (i * k) % 7
    return total


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
