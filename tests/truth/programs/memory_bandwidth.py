"""Programs whose first accepted limiter is memory.bandwidth. `python3 run.py NAME SECONDS` runs one."""
import time

from common import CUDA, until


def copy_device(seconds):
    import torch
    a = torch.empty(1 << 32, dtype=torch.uint8, device=CUDA).random_()
    b = torch.empty_like(a)
    until(seconds, lambda: b.copy_(a), batch=4)


def softmax(seconds):
    import torch
    x = torch.randn(8192, 65536, device=CUDA)
    until(seconds, lambda: torch.softmax(x, 1), batch=4)


def elementwise(seconds):
    import torch
    x = torch.randn(1 << 28, device=CUDA)
    y = torch.randn(1 << 28, device=CUDA)

    def step():
        nonlocal x
        x = torch.tanh(x * 0.5 + y)
        x = torch.nn.functional.layer_norm(x.view(-1, 4096), (4096,)).view(-1)

    until(seconds, step, batch=4)


def fft(seconds):
    import torch
    x = torch.randn(64, 1 << 22, dtype=torch.complex64, device=CUDA)
    until(seconds, lambda: torch.fft.fft(x), batch=4)


def sort(seconds):
    import torch
    x = torch.rand(1 << 28, device=CUDA)
    until(seconds, lambda: torch.sort(x))


def stream_copies(seconds):
    """Eight streams that exchange blocks of device memory, each with each."""
    import torch
    blocks = [torch.randn(1 << 26, device=CUDA) for _ in range(8)]
    others = [torch.empty_like(b) for b in blocks]
    streams = [torch.cuda.Stream() for _ in range(8)]
    piece = (1 << 26) // 8

    def step():
        for i, stream in enumerate(streams):
            with torch.cuda.stream(stream):
                for k in range(8):
                    others[k][i * piece:(i + 1) * piece].copy_(blocks[i][k * piece:(k + 1) * piece])

    until(seconds, step, batch=10)


def kv_decode(seconds):
    """Attention of one new token over long caches."""
    import torch
    f = torch.nn.functional
    q = torch.randn(64, 16, 1, 128, device=CUDA, dtype=torch.bfloat16)
    k, v = (torch.randn(64, 16, 8192, 128, device=CUDA, dtype=torch.bfloat16) for _ in range(2))
    until(seconds, lambda: f.scaled_dot_product_attention(q, k, v), batch=50)


def depthwise(seconds):
    """Depthwise convolutions and their activations, float32, as in nets for phones."""
    import torch
    from torch import nn
    net = nn.Sequential(*(nn.Sequential(nn.Conv2d(384, 384, 3, padding=1, groups=384), nn.BatchNorm2d(384), nn.ReLU6())
                          for _ in range(4))).to(CUDA).eval()
    x = torch.randn(64, 384, 112, 112, device=CUDA)
    with torch.inference_mode():
        until(seconds, lambda: net(x))


def norm_dropout(seconds):
    """Layer norms, dropout and residuals, eager, bf16: nothing is fused."""
    import torch
    from torch import nn
    f = nn.functional
    norms = nn.ModuleList(nn.LayerNorm(8192) for _ in range(8)).to(CUDA, torch.bfloat16)
    x = torch.randn(32768, 8192, device=CUDA, dtype=torch.bfloat16)

    def step():
        y = x
        for norm in norms:
            y = y + f.dropout(norm(y), 0.1)

    with torch.no_grad():
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


def ensemble_bmm(seconds):
    """A thousand little products in one call, bf16, again and again."""
    import torch
    a = torch.randn(4096, 64, 64, device=CUDA, dtype=torch.bfloat16)
    out = torch.empty_like(a)
    until(seconds, lambda: torch.bmm(a, a, out=out), batch=200)


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


def monte_carlo(seconds):
    """Paths of prices: random numbers, exponentials and sums in float64, one array at a time."""
    import torch

    def step():
        price = torch.full((1 << 26,), 100.0, device=CUDA, dtype=torch.float64)
        for _ in range(8):
            price *= torch.exp(0.01 * torch.randn(1 << 26, device=CUDA, dtype=torch.float64) - 5e-5)
        (price - 100).clamp_(min=0).mean()

    until(seconds, step)


def naive_attention(seconds):
    """Attention over 16,384 words written out: the matrix of scores is stored, scaled, masked and normalised, nothing is fused."""
    import torch
    n = 16384
    q, k, v = (torch.randn(16, n, 128, device=CUDA, dtype=torch.bfloat16) for _ in range(3))
    later = torch.ones(n, n, device=CUDA, dtype=torch.bool).triu_(1)

    def step():
        scores = q @ k.transpose(1, 2)
        scores = scores * 0.088
        scores = scores.masked_fill(later, -1e4)
        return scores.softmax(-1) @ v

    with torch.inference_mode():
        until(seconds, step, batch=4)


def cg_fp64(seconds):
    """Conjugate gradients in float64 on a grid of 384³: neighbours by slices, and the residual asked for in each iteration."""
    import torch
    n = 384
    b = torch.rand(n, n, n, device=CUDA, dtype=torch.float64)

    def laplace(p):
        q = 6 * p
        for d in range(3):
            q.narrow(d, 1, n - 1).sub_(p.narrow(d, 0, n - 1))
            q.narrow(d, 0, n - 1).sub_(p.narrow(d, 1, n - 1))
        return q

    def dot(u, w):
        return torch.dot(u.view(-1), w.view(-1)).item()

    def solve():
        x, r, p = torch.zeros_like(b), b.clone(), b.clone()
        old = dot(r, r)
        for _ in range(200):
            q = laplace(p)
            alpha = old / dot(p, q)
            x.add_(p, alpha=alpha)
            r.sub_(q, alpha=alpha)
            new = dot(r, r)
            if new < 1e-9:
                break
            p.mul_(new / old).add_(r)
            old = new

    until(seconds, solve)


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


def triad(seconds):
    """a = b + 3 c, on 4 GB each."""
    import torch
    a, b, c = (torch.rand(1 << 30, device=CUDA) for _ in range(3))
    until(seconds, lambda: [torch.add(b, c, alpha=3, out=a) for _ in range(4)])


def transposes(seconds):
    """A matrix of 4 GB written transposed, and back."""
    import torch
    a = torch.rand(1 << 15, 1 << 15, device=CUDA)
    b = torch.empty_like(a)
    until(seconds, lambda: [b.copy_(a.t()) for _ in range(10)])
