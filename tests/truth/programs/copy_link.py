"""Programs whose first accepted limiter is copy.link. `python3 run.py NAME SECONDS` runs one."""

from common import CUDA, until


def d2h_pinned(seconds):
    import torch
    host = torch.empty(1 << 29, dtype=torch.uint8).pin_memory()
    device = torch.empty(1 << 29, dtype=torch.uint8, device=CUDA).random_()
    until(seconds, lambda: host.copy_(device, non_blocking=True), batch=4)


def streamed_weights(seconds):
    """Weights live on the host; each layer's are copied before it runs."""
    import torch
    layers = [torch.randn(8192, 8192, dtype=torch.bfloat16).pin_memory() for _ in range(8)]
    x = torch.randn(16, 8192, device=CUDA, dtype=torch.bfloat16)

    def step():
        y = x
        for w in layers:
            y = torch.tanh(y @ w.to(CUDA, non_blocking=True))

    until(seconds, step)


def prefetch_h2d(seconds):
    """Batches of 512 MB are copied ahead in a stream of their own while products run that take half as long."""
    import torch
    host = [torch.empty(1 << 27).pin_memory() for _ in range(2)]
    device = [torch.empty(1 << 27, device=CUDA) for _ in range(2)]
    a = torch.randn(8192, 8192, device=CUDA, dtype=torch.bfloat16)
    side, ready, turn = torch.cuda.Stream(), torch.cuda.Event(), 0

    def step():
        nonlocal turn
        turn ^= 1
        with torch.cuda.stream(side):
            device[turn].copy_(host[turn], non_blocking=True)
            ready.record()
        for _ in range(3):
            a @ a
        torch.cuda.current_stream().wait_event(ready)
        side.wait_stream(torch.cuda.current_stream())

    until(seconds, step, batch=8)


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


def pinned_rounds(seconds):
    """Batches of 1 GB from pinned memory, each scaled once."""
    import torch
    host = torch.empty(1 << 28).pin_memory()
    there = torch.empty(1 << 28, device=CUDA)
    until(seconds, lambda: [there.copy_(host, non_blocking=True), there.mul_(1.01)])
