"""Programs whose first accepted limiter is idle.allocated. `python3 run.py NAME SECONDS` runs one."""
import time

from common import CUDA, until


def held(seconds):
    import torch
    keep = torch.zeros(20 << 30, dtype=torch.uint8, device=CUDA)
    time.sleep(seconds)
    del keep


def forgotten(seconds):
    import torch
    a = torch.randn(8192, 8192, device=CUDA, dtype=torch.bfloat16)
    until(0.5, lambda: a @ a, batch=5)
    time.sleep(seconds + 6)
