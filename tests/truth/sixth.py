"""A sixth set of small real programs whose limit an expert knows. `python3 sixth.py NAME SECONDS` runs one.

What is accepted of each is in labels.csv, written before any of them ran.
"""
import multiprocessing
import os
import sys
import time
import zlib

from fifth import CUDA, until


def vit_train(seconds):
    """A vision transformer learns in mixed precision, fused attention, batch 256."""
    import torch
    from torch import nn
    blocks = nn.TransformerEncoder(nn.TransformerEncoderLayer(1024, 16, 4096, dropout=0.0, batch_first=True, activation="gelu"), 6)
    net = nn.Sequential(nn.Linear(768, 1024), blocks, nn.Linear(1024, 1000)).to(CUDA)
    opt = torch.optim.AdamW(net.parameters(), lr=1e-4, fused=True)
    x = torch.randn(256, 196, 768, device=CUDA)

    def step():
        opt.zero_grad()
        with torch.autocast(CUDA, torch.bfloat16):
            loss = net(x).float().square().mean()
        loss.backward()
        opt.step()

    until(seconds, step)


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


def small_copies(seconds):
    """A batch of 2,000 small tensors, each sent to the device by itself."""
    import torch
    parts = [torch.randn(64) for _ in range(2000)]

    def step():
        torch.stack([part.to(CUDA) for part in parts]).mean()

    until(seconds, step)


def conv3d(seconds):
    """Three-dimensional convolutions of a medical net in plain float32, no TF32."""
    import torch
    from torch import nn
    torch.backends.cudnn.allow_tf32 = False
    net = nn.Sequential(nn.Conv3d(32, 64, 3, padding=1), nn.ReLU(), nn.Conv3d(64, 64, 3, padding=1), nn.ReLU()).to(CUDA).eval()
    x = torch.randn(4, 32, 96, 96, 96, device=CUDA)
    with torch.inference_mode():
        until(seconds, lambda: net(x))


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


def unzip_main(seconds):
    """Each batch is unpacked with zlib in the training process; the net is small."""
    import torch
    packed = zlib.compress(os.urandom(1 << 20) * 24, 6)
    net = torch.nn.Linear(4096, 1024).to(CUDA)

    def step():
        raw = bytearray(zlib.decompress(packed))
        x = torch.frombuffer(raw, dtype=torch.uint8).to(CUDA).float().view(-1, 4096)
        net(x).mean().backward()

    until(seconds, step)


def graph_messages(seconds):
    """Messages along 60 million random edges of a graph with 4 million nodes, 64 floats each."""
    import torch
    nodes, edges = 1 << 22, 60 << 20
    x = torch.randn(nodes, 64, device=CUDA)
    to = torch.randint(0, nodes, (edges,), device=CUDA)
    source = torch.randint(0, nodes, (edges,), device=CUDA)

    def step():
        out = torch.zeros_like(x)
        for k in range(0, edges, 1 << 23):
            out.index_add_(0, to[k:k + (1 << 23)], x[source[k:k + (1 << 23)]])

    until(seconds, step)


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


def ensemble_bmm(seconds):
    """A thousand little products in one call, bf16, again and again."""
    import torch
    a = torch.randn(4096, 64, 64, device=CUDA, dtype=torch.bfloat16)
    out = torch.empty_like(a)
    until(seconds, lambda: torch.bmm(a, a, out=out), batch=200)


def lr_search(seconds):
    """Forty little models one after another, each made, compiled by nobody, trained for a few steps and thrown away."""
    import torch
    from torch import nn

    def step():
        net = nn.Sequential(nn.Linear(128, 256), nn.Tanh(), nn.Linear(256, 256), nn.Tanh(), nn.Linear(256, 1)).to(CUDA)
        opt = torch.optim.Adam(net.parameters(), lr=1e-3)
        x = torch.randn(64, 128, device=CUDA)
        for _ in range(20):
            opt.zero_grad()
            net(x).square().mean().backward()
            opt.step()

    until(seconds, step)


def jax_lattice(seconds):
    """A diffusion equation on a grid of 16384 × 16384 in float32: neighbours are added, nothing else."""
    import jax
    import jax.numpy as jnp

    @jax.jit
    def step(u):
        def once(_, v):
            return v + 0.1 * (jnp.roll(v, 1, 0) + jnp.roll(v, -1, 0) + jnp.roll(v, 1, 1) + jnp.roll(v, -1, 1) - 4 * v)
        return jax.lax.fori_loop(0, 20, once, u)

    u = step(jnp.ones((16384, 16384), jnp.float32)).block_until_ready()
    end = time.time() + seconds
    while time.time() < end:
        u = step(u).block_until_ready()


def jax_eager(seconds):
    """Small JAX arrays, operation by operation, without jit."""
    import jax.numpy as jnp
    x = jnp.ones((64, 64))
    end = time.time() + seconds
    while time.time() < end:
        for _ in range(100):
            x = jnp.tanh(x @ x * 0.01 + 0.1)
        x.block_until_ready()


def chat_mix(seconds):
    """A service: a prompt of 8,192 words through large layers, then a pause of 0.2 s until the next one."""
    import torch
    a = torch.randn(8192, 8192, device=CUDA, dtype=torch.bfloat16)
    b = torch.empty_like(a)

    def step():
        for _ in range(20):
            torch.mm(a, a, out=b)
        torch.cuda.synchronize()
        time.sleep(0.2)

    until(seconds, step)


def monte_carlo(seconds):
    """Paths of prices: random numbers, exponentials and sums in float64, one array at a time."""
    import torch

    def step():
        price = torch.full((1 << 26,), 100.0, device=CUDA, dtype=torch.float64)
        for _ in range(8):
            price *= torch.exp(0.01 * torch.randn(1 << 26, device=CUDA, dtype=torch.float64) - 5e-5)
        (price - 100).clamp_(min=0).mean()

    until(seconds, step)


if __name__ == "__main__":
    globals()[sys.argv[1]](float(sys.argv[2]))
