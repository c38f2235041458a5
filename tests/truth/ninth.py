"""A ninth set of small real programs whose limit an expert knows, to be recorded with and without profiling counters (both.py).

`python3 ninth.py NAME SECONDS` runs one. What is accepted of each is in ninth.csv, written before any of them ran.
"""
import math
import sys
import threading
import time

from fifth import CUDA, until


def ffn_bf16(seconds):
    """The feed-forward half of a large transformer, forward and backward."""
    import torch
    from torch import nn
    net = nn.Sequential(nn.Linear(5120, 20480), nn.GELU(), nn.Linear(20480, 5120)).to(CUDA, torch.bfloat16)
    x = torch.randn(8192, 5120, device=CUDA, dtype=torch.bfloat16)
    until(seconds, lambda: net(x).square().mean().backward())


def gemm_zeros(seconds):
    """The same kernels as any product, on zeros: they draw two thirds of the power."""
    import torch
    a = torch.zeros(8192, 8192, device=CUDA, dtype=torch.bfloat16)
    out = torch.empty_like(a)
    until(seconds, lambda: [torch.mm(a, a, out=out) for _ in range(10)])


def triad(seconds):
    """a = b + 3 c, on 4 GB each."""
    import torch
    a, b, c = (torch.rand(1 << 30, device=CUDA) for _ in range(3))
    until(seconds, lambda: [torch.add(b, c, alpha=3, out=a) for _ in range(4)])


def short_rows(seconds):
    """Rows of 64 bytes from all over a table of 8 GB."""
    import torch
    table = torch.rand(1 << 27, 16, device=CUDA)
    where = torch.randint(0, 1 << 27, (1 << 23,), device=CUDA)
    out = torch.empty(1 << 23, 16, device=CUDA)
    until(seconds, lambda: [torch.index_select(table, 0, where, out=out) for _ in range(4)])


def conv_ieee(seconds):
    """Convolutions in single precision, without TF32."""
    import torch
    torch.backends.cudnn.allow_tf32 = False
    net = torch.nn.Conv2d(256, 256, 3, padding=1).to(CUDA)
    x = torch.rand(64, 256, 64, 64, device=CUDA)
    with torch.no_grad():
        until(seconds, lambda: net(x))


def erf_double(seconds):
    """An error function in double precision: arithmetic beyond what its eight bytes take."""
    import torch
    x = torch.rand(1 << 24, device=CUDA, dtype=torch.float64)
    until(seconds, lambda: [torch.special.erfcx(x) for _ in range(8)])


def small_graph(seconds):
    """A recurrent cell for one sample, 200 times in a CUDA graph."""
    import torch
    cell = torch.nn.GRUCell(128, 128).to(CUDA)
    x, h = torch.rand(1, 128, device=CUDA), torch.rand(1, 128, device=CUDA)

    def roll():
        state = h
        for _ in range(200):
            state = cell(x, state)
        return state

    with torch.no_grad():
        side = torch.cuda.Stream()
        with torch.cuda.stream(side):
            roll()
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            roll()
        until(seconds, lambda: [graph.replay() for _ in range(20)])


def loop_adam(seconds):
    """An optimizer that goes through a thousand small tensors one by one."""
    import torch
    params = [torch.rand(64, 64, device=CUDA, requires_grad=True) for _ in range(1000)]
    for p in params:
        p.grad = torch.rand_like(p)
    opt = torch.optim.Adam(params, foreach=False)
    until(seconds, opt.step)


def pinned_rounds(seconds):
    """Batches of 1 GB from pinned memory, each scaled once."""
    import torch
    host = torch.empty(1 << 28).pin_memory()
    there = torch.empty(1 << 28, device=CUDA)
    until(seconds, lambda: [there.copy_(host, non_blocking=True), there.mul_(1.01)])


def to_numpy(seconds):
    """Results of 400 MB taken back by .cpu() each time."""
    import torch
    x = torch.rand(100 << 20, device=CUDA)
    until(seconds, lambda: x.cpu())


def python_rules(seconds):
    """A Python loop over a list for each small batch."""
    import torch
    net = torch.nn.Linear(512, 512).to(CUDA)

    def step():
        values = [math.sin(i) * i for i in range(100000)]
        net(torch.tensor(values[:512], device=CUDA)).sum().item()

    until(seconds, step)


def two_tempos(seconds):
    """A thread that answers requests every 0.4 s and rests between."""
    import torch
    a = torch.rand(4096, 4096, device=CUDA)

    def serve():
        until(seconds, lambda: [(a @ a).sum().item(), time.sleep(0.4)])

    t = threading.Thread(target=serve)
    t.start()
    t.join()


if __name__ == "__main__":
    globals()[sys.argv[1]](float(sys.argv[2]))
