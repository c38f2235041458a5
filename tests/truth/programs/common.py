"""What several of the programs use."""
import time

CUDA = "cuda"


def until(seconds, step, sync=True, batch=1):
    """Calls step() again and again for so long, after a first call that loads what it needs."""
    import torch
    step()
    torch.cuda.synchronize()
    end = time.time() + seconds
    while time.time() < end:
        for _ in range(batch):
            step()
        if sync:
            torch.cuda.synchronize()


def gemm(seconds, dtype, n=8192, batch=10):
    import torch
    a = torch.randn(n, n, device=CUDA).to(dtype)
    b = torch.randn(n, n, device=CUDA).to(dtype)
    out = torch.empty_like(a)
    until(seconds, lambda: torch.mm(a, b, out=out), batch=batch)


def small_mlp():
    import torch
    from torch import nn
    net = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 8)).to(CUDA)
    x = torch.randn(32, 64, device=CUDA)
    opt = torch.optim.SGD(net.parameters(), lr=1e-3)

    def step():
        opt.zero_grad(set_to_none=False)
        net(x).square().mean().backward()
        opt.step()

    return step


def conv_step():
    import torch
    from torch import nn
    net = nn.Sequential(nn.Conv2d(3, 32, 3, 2), nn.ReLU(), nn.Conv2d(32, 64, 3, 2), nn.ReLU(),
                        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10)).to(CUDA)
    opt = torch.optim.SGD(net.parameters(), lr=1e-3)

    def step(x):
        opt.zero_grad()
        net(x.to(CUDA, non_blocking=True)).square().mean().backward()
        opt.step()

    return step


def big_mlp_step(width=4096, batch=2048, layers=8):
    import torch
    from torch import nn
    net = nn.Sequential(*[m for _ in range(layers) for m in (nn.Linear(width, width), nn.GELU())])
    net = net.to(CUDA, torch.bfloat16)
    opt = torch.optim.SGD(net.parameters(), lr=1e-5)
    x = torch.randn(batch, width, device=CUDA, dtype=torch.bfloat16)

    def step():
        opt.zero_grad()
        net(x).float().square().mean().backward()
        opt.step()

    return step


def decoder(width, layers, heads):
    import torch
    from torch import nn
    layer = nn.TransformerEncoderLayer(width, heads, 4 * width, batch_first=True, norm_first=True)
    return nn.TransformerEncoder(layer, layers, enable_nested_tensor=False).to(CUDA, torch.bfloat16).eval()


def polynomial(seconds, name):
    import jax
    jax.config.update("jax_enable_x64", True)
    import jax.numpy as jnp

    @jax.jit
    def horner(x, a, b):
        for _ in range(256):
            x = x * a + b
        return x

    x = jnp.linspace(0, 1, 1 << 26).astype(name)
    a, b = jnp.array(0.999, name), jnp.array(0.001, name)
    end = time.time() + seconds
    while time.time() < end:
        for _ in range(20):
            x = horner(x, a, b)
        x.block_until_ready()


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
