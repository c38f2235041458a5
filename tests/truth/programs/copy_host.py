"""Programs whose first accepted limiter is copy.host. `python3 run.py NAME SECONDS` runs one."""
import time

from common import CUDA, until


def h2d_pageable(seconds):
    import torch
    host = torch.empty(1 << 29, dtype=torch.uint8).random_()
    device = torch.empty(1 << 29, dtype=torch.uint8, device=CUDA)
    until(seconds, lambda: device.copy_(host))


def results_back(seconds):
    import torch
    x = torch.randn(1 << 28, device=CUDA)
    until(seconds, lambda: (x * 2).cpu())


def jax_device_put(seconds):
    """JAX: a numpy batch of 1 GB goes to the device for each cheap step."""
    import jax
    import jax.numpy as jnp
    import numpy as np
    batch = np.ones((1 << 14, 1 << 14), np.float32)
    total = jax.jit(lambda x: jnp.sum(x * 2))
    total(jax.device_put(batch)).block_until_ready()
    end = time.time() + seconds
    while time.time() < end:
        total(jax.device_put(batch)).block_until_ready()


def to_numpy(seconds):
    """Results of 400 MB taken back by .cpu() each time."""
    import torch
    x = torch.rand(100 << 20, device=CUDA)
    until(seconds, lambda: x.cpu())
