"""Programs whose first accepted limiter is host.starting. `python3 run.py NAME SECONDS` runs one."""
import time

from common import CUDA, until


def slow_build(seconds):
    """Nearly all of it is start-up: a model made and filled on the CPU, then a moment of work."""
    import torch
    from torch import nn
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
