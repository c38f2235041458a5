"""Programs whose first accepted limiter is launch. `python3 run.py NAME SECONDS` runs one."""
import os
import threading
import time

from common import CUDA, decoder, small_mlp, until


def mlp_eager(seconds):
    until(seconds, small_mlp(), batch=50)


def item_each(seconds):
    """A small operation, then its result on the host, again and again."""
    import torch
    x = torch.randn(256, 256, device=CUDA)
    until(seconds, lambda: (x @ x).sum().item(), sync=False)


def two_small(seconds):
    """Two processes that share the GPU, each with small kernels."""
    pid = os.fork()
    step = small_mlp()
    until(seconds, step, batch=50)
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)


def jax_steps(seconds):
    import jax
    import jax.numpy as jnp

    @jax.jit
    def step(w, x):
        return w - 1e-3 * jax.grad(lambda w: jnp.mean(jnp.tanh(x @ w) ** 2))(w)

    w, x = jnp.ones((64, 64)), jnp.ones((32, 64))
    end = time.time() + seconds
    while time.time() < end:
        for _ in range(100):
            w = step(w, x)
        w.block_until_ready()


def decode_eager(seconds):
    import torch
    net = decoder(512, 12, 8)
    x = torch.randn(1, 1, 512, device=CUDA, dtype=torch.bfloat16)
    with torch.inference_mode():
        until(seconds, lambda: net(x), batch=10)


def small_vae(seconds):
    import torch
    from torch import nn
    enc = nn.Sequential(nn.Conv2d(1, 16, 3, 2, 1), nn.ReLU(), nn.Conv2d(16, 32, 3, 2, 1), nn.ReLU(), nn.Flatten(),
                        nn.Linear(1568, 32)).to(CUDA)
    dec = nn.Sequential(nn.Linear(32, 256), nn.ReLU(), nn.Linear(256, 784)).to(CUDA)
    x = torch.rand(16, 1, 28, 28, device=CUDA)

    def step():
        loss = (dec(enc(x)) - x.flatten(1)).square().mean()
        loss.backward()

    until(seconds, step, batch=20)


def beam_search(seconds):
    """Beam search: small layers, the best words of each beam, and their order decided in Python for each word."""
    import torch
    from torch import nn
    cell, out = nn.GRUCell(512, 512).to(CUDA), nn.Linear(512, 8000).to(CUDA)
    embed = nn.Embedding(8000, 512).to(CUDA)

    def sentence():
        state, scores = torch.zeros(6, 512, device=CUDA), torch.zeros(6, 1, device=CUDA)
        words = torch.ones(6, dtype=torch.long, device=CUDA)
        for _ in range(40):
            state = cell(embed(words), state)
            best, at = (out(state).log_softmax(1) + scores).flatten().topk(6)
            kept = sorted(zip(best.tolist(), at.tolist()), reverse=True)
            beams = torch.tensor([i // 8000 for _, i in kept], device=CUDA)
            words = torch.tensor([i % 8000 for _, i in kept], device=CUDA)
            scores = torch.tensor([[s] for s, _ in kept], device=CUDA)
            state = state[beams]

    with torch.inference_mode():
        until(seconds, sentence)


def batch1_convnet(seconds):
    """One image at a time through a deep convolutional net, eager, half precision."""
    import torch
    from torch import nn
    blocks = [nn.Conv2d(3, 64, 7, 4, 3)]
    for _ in range(40):
        blocks += [nn.Conv2d(64, 64, 3, padding=1), nn.BatchNorm2d(64), nn.ReLU()]
    net = nn.Sequential(*blocks).to(CUDA, torch.float16).eval()
    x = torch.randn(1, 3, 224, 224, device=CUDA, dtype=torch.float16)

    def step():
        net(x).float().mean().item()

    with torch.inference_mode():
        until(seconds, step)


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


def jax_eager(seconds):
    """Small JAX arrays, operation by operation, without jit."""
    import jax.numpy as jnp
    x = jnp.ones((64, 64))
    end = time.time() + seconds
    while time.time() < end:
        for _ in range(100):
            x = jnp.tanh(x @ x * 0.01 + 0.1)
        x.block_until_ready()


def threads_infer(seconds):
    """A service with eight Python threads, each with a stream and a small net of its own, one request after the other."""
    import torch
    from torch import nn
    torch.randn(1, device=CUDA)
    end = time.time() + seconds

    def serve():
        net = nn.Sequential(*(m for _ in range(12) for m in (nn.Linear(512, 512), nn.LayerNorm(512), nn.GELU()))).to(CUDA).eval()
        with torch.inference_mode(), torch.cuda.stream(torch.cuda.Stream()):
            while time.time() < end:
                net(torch.zeros(4, 512, device=CUDA)).sum().item()

    threads = [threading.Thread(target=serve) for _ in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()


def tiny_microbatches(seconds):
    """Training that gathers the gradients of 64 micro-batches of one short text each, with a loss asked for after each."""
    import torch
    from torch import nn
    net = nn.TransformerEncoder(nn.TransformerEncoderLayer(256, 8, 1024, dropout=0.0, batch_first=True), 8).to(CUDA)
    opt = torch.optim.AdamW(net.parameters(), lr=1e-4)
    x = torch.randn(1, 32, 256, device=CUDA)
    told = []

    def step():
        total = 0.0
        for _ in range(64):
            loss = net(x).square().mean() / 64
            loss.backward()
            total += loss.item()
        told.append((total, torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0).item()))
        opt.step()
        opt.zero_grad()

    until(seconds, step)


def loop_adam(seconds):
    """An optimizer that goes through a thousand small tensors one by one."""
    import torch
    params = [torch.rand(64, 64, device=CUDA, requires_grad=True) for _ in range(1000)]
    for p in params:
        p.grad = torch.rand_like(p)
    opt = torch.optim.Adam(params, foreach=False)
    until(seconds, opt.step)
