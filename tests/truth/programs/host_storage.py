"""Programs whose first accepted limiter is host.storage. `python3 run.py NAME SECONDS` runs one."""
import mmap
import os
import queue
import sqlite3
import tempfile
import threading
import time

import numpy as np
import torch

from common import CUDA, conv_step, until


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
    import torch
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


def checkpoints(seconds):
    import torch
    from torch import nn
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


def results_to_disk(seconds):
    """Each result is saved before the next step begins."""
    import numpy as np
    import torch
    x = torch.randn(64 << 20, device=CUDA)

    def step():
        y = torch.tanh(x)
        with tempfile.NamedTemporaryFile(dir=".") as out:
            np.save(out, y.cpu().numpy())
            out.flush()
            os.fsync(out.fileno())

    until(seconds, step)


def save_often(seconds):
    """A second of training, then a checkpoint of 2 GB that is written out, by turns."""
    import torch
    a = torch.randn(8192, 8192, device=CUDA, dtype=torch.bfloat16)
    weights = [torch.randn(1 << 27, device=CUDA) for _ in range(4)]
    end = time.time() + seconds
    while time.time() < end:
        until(0.4, lambda: a @ a, batch=10)
        with open("checkpoint.pt", "wb") as out:
            torch.save([w.cpu() for w in weights], out)
            out.flush()
            os.fsync(out.fileno())
    os.remove("checkpoint.pt")


def cold_mmap(seconds):
    """Rows at random from a mapped file of 2 GB that is not in the page cache."""
    import numpy as np
    import torch
    size, block = 2 << 30, bytes(os.urandom(1 << 20)) * 64
    with open("table.bin", "wb") as out:
        for _ in range(size // len(block)):
            out.write(block)
        out.flush()
        os.fsync(out.fileno())
    file = os.open("table.bin", os.O_RDONLY)
    rng = np.random.default_rng(0)
    row, rows = 256 << 10, size // (256 << 10)
    net = torch.nn.Linear(256, 256).to(CUDA)

    def step():
        os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
        with mmap.mmap(file, size, prot=mmap.PROT_READ) as table:
            for i in rng.permutation(rows)[:1024]:
                taken = np.frombuffer(table, np.uint8, row, int(i) * row)
                x = torch.from_numpy(taken[::256].astype(np.float32).reshape(-1, 256)).to(CUDA)
                del taken
                net(x)

    until(seconds, step)
    os.remove("table.bin")


def save_models(seconds):
    """After a tenth of a second of work the model, 2 GB, is written and synced."""
    import torch
    net = torch.nn.Linear(16384, 32768, device=CUDA)
    x = torch.randn(4096, 16384, device=CUDA)

    def step():
        for _ in range(4):
            net(x)
        torch.cuda.synchronize()
        with open("model.pt", "wb") as out:
            torch.save(net.state_dict(), out)
            out.flush()
            os.fsync(out.fileno())

    until(seconds, step)
    os.remove("model.pt")


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
