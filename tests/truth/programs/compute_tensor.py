"""Programs whose first accepted limiter is compute.tensor. `python3 run.py NAME SECONDS` runs one."""
import os
import threading
import time

from common import CUDA, decoder, gemm, until


def gemm_bf16(seconds):
    import torch
    gemm(seconds, torch.bfloat16)


def attention(seconds):
    import torch
    from torch import nn
    q, k, v = (torch.randn(8, 32, 4096, 128, device=CUDA, dtype=torch.bfloat16) for _ in range(3))
    until(seconds, lambda: nn.functional.scaled_dot_product_attention(q, k, v), batch=4)


def prefill(seconds):
    import torch
    net = decoder(4096, 8, 32)
    x = torch.randn(8, 2048, 4096, device=CUDA, dtype=torch.bfloat16)
    with torch.inference_mode():
        until(seconds, lambda: net(x), batch=2)


def gemm_tf32(seconds):
    import torch
    torch.backends.cuda.matmul.allow_tf32 = True
    a = torch.randn(8192, 8192, device=CUDA)
    until(seconds, lambda: a @ a, batch=4)


def gemm_fp8(seconds):
    import torch
    a = torch.randn(8192, 8192, device=CUDA).to(torch.float8_e4m3fn)
    b = torch.randn(8192, 8192, device=CUDA).to(torch.float8_e4m3fn).t()
    one = torch.ones((), device=CUDA)
    until(seconds, lambda: torch._scaled_mm(a, b, one, one, out_dtype=torch.bfloat16), batch=10)


def jax_gemm(seconds):
    import jax
    import jax.numpy as jnp
    a = jnp.ones((8192, 8192), jnp.bfloat16) * 0.01 + jax.random.normal(jax.random.PRNGKey(0), (8192, 8192), jnp.bfloat16)

    @jax.jit
    def chain(x):
        for _ in range(10):
            x = jnp.tanh(x @ a)
        return x

    x = chain(a)
    end = time.time() + seconds
    while time.time() < end:
        x = chain(x)
        x.block_until_ready()


def overlapped(seconds):
    """Pinned copies hidden behind products: the products are what takes the time."""
    import torch
    host = torch.randn(4096, 4096, dtype=torch.bfloat16).pin_memory()
    a = torch.randn(8192, 8192, device=CUDA, dtype=torch.bfloat16)
    side = torch.cuda.Stream()

    def step():
        with torch.cuda.stream(side):
            host.to(CUDA, non_blocking=True)
        for _ in range(4):
            a @ a

    until(seconds, step, batch=4)


def compiled_blocks(seconds):
    """Layers of a transformer, forward, in bf16, large enough to fill the GPU."""
    import torch
    from torch import nn
    layer = nn.TransformerEncoderLayer(2048, 16, 8192, batch_first=True, norm_first=True).to(CUDA, torch.bfloat16).eval()
    x = torch.randn(16, 1024, 2048, device=CUDA, dtype=torch.bfloat16)
    with torch.inference_mode():
        until(seconds, lambda: layer(x), batch=4)


def diffusion(seconds):
    """Denoising steps of an image model: convolutions, norms and attention in bf16."""
    import torch
    from torch import nn
    f = nn.functional
    convs = nn.ModuleList(nn.Conv2d(320, 320, 3, padding=1) for _ in range(6)).to(CUDA, torch.bfloat16, memory_format=torch.channels_last)
    norms = nn.ModuleList(nn.GroupNorm(32, 320) for _ in range(6)).to(CUDA, torch.bfloat16)
    x = torch.randn(16, 320, 64, 64, device=CUDA, dtype=torch.bfloat16).to(memory_format=torch.channels_last)

    def step():
        y = x
        for conv, norm in zip(convs, norms):
            y = y + conv(f.silu(norm(y)))
        q = y.flatten(2).transpose(1, 2).reshape(16, 4096, 5, 64).transpose(1, 2)
        f.scaled_dot_product_attention(q, q, q)

    with torch.inference_mode():
        until(seconds, step, batch=5)


def grad_checkpoint(seconds):
    """Training with recomputed activations."""
    import torch
    from torch import nn
    from torch.utils.checkpoint import checkpoint
    with torch.device(CUDA):
        layers = nn.ModuleList(nn.Sequential(nn.LayerNorm(4096), nn.Linear(4096, 16384), nn.GELU(), nn.Linear(16384, 4096))
                               for _ in range(6)).to(torch.bfloat16)
    x = torch.randn(16384, 4096, device=CUDA, dtype=torch.bfloat16)

    def step():
        y = x
        for layer in layers:
            y = y + checkpoint(layer, y, use_reentrant=False)
        y.float().mean().backward()
        for p in layers.parameters():
            p.grad = None

    until(seconds, step)


def jax_pmap(seconds):
    """A pmapped step on one device: two large layers and their gradients, in bf16."""
    import jax
    import jax.numpy as jnp

    def loss(w, x):
        return jnp.mean(jax.nn.gelu(x @ w[0]) @ w[1]).astype(jnp.float32)

    @jax.pmap
    def step(w, x):
        g = jax.grad(loss)(w, x)
        return [a - 0.001 * b for a, b in zip(w, g)]

    n = jax.local_device_count()
    w = [jnp.ones((n, 8192, 16384), jnp.bfloat16) * 0.01, jnp.ones((n, 16384, 8192), jnp.bfloat16) * 0.01]
    x = jax.random.normal(jax.random.PRNGKey(0), (n, 8192, 8192), jnp.bfloat16)
    w = step(w, x)
    w[0].block_until_ready()
    end = time.time() + seconds
    while time.time() < end:
        for _ in range(3):
            w = step(w, x)
        w[0].block_until_ready()


def gemm_int8(seconds):
    """INT8 products in the layout that tensor cores like."""
    import torch
    a = torch.randint(-8, 8, (8192, 8192), device=CUDA, dtype=torch.int8)
    b = torch.randint(-8, 8, (8192, 8192), device=CUDA, dtype=torch.int8).t()
    until(seconds, lambda: torch._int_mm(a, b), batch=20)


def one_idles(seconds):
    """Two processes: one holds memory and sleeps, the other multiplies."""
    pid = os.fork()
    import torch
    if pid == 0:
        kept = torch.zeros(4 << 30, device=CUDA, dtype=torch.uint8)
        time.sleep(seconds + 4 + 0 * len(kept))
        os._exit(0)
    a = torch.randn(8192, 8192, device=CUDA, dtype=torch.bfloat16)
    until(seconds, lambda: a @ a, batch=10)
    os.kill(pid, 9)
    os.waitpid(pid, 0)


def heavy_and_light(seconds):
    """Two processes on one GPU: one multiplies large matrices, the other answers small requests now and then."""
    parent, pid = os.getpid(), os.fork()
    import torch
    if pid == 0:
        net = torch.nn.Linear(256, 256).to(CUDA)
        x = torch.randn(8, 256, device=CUDA)
        while os.getppid() == parent:
            for _ in range(20):
                net(x)
            torch.cuda.synchronize()
            time.sleep(0.02)
        os._exit(0)
    a = torch.randn(8192, 8192, device=CUDA, dtype=torch.bfloat16)
    until(seconds, lambda: a @ a, batch=10)
    os.kill(pid, 9)
    os.waitpid(pid, 0)


def gpt_train(seconds):
    """A small GPT in mixed precision, eager, with AdamW; the data is on the device."""
    import torch
    from torch import nn
    with torch.device(CUDA):
        layer = nn.TransformerEncoderLayer(768, 12, 3072, dropout=0.0, activation="gelu", batch_first=True, norm_first=True)
        blocks = nn.TransformerEncoder(layer, 12, enable_nested_tensor=False)
        embed, head = nn.Embedding(32000, 768), nn.Linear(768, 32000, bias=False)
        words = torch.randint(0, 32000, (16, 1025))
        mask = nn.Transformer.generate_square_subsequent_mask(1024)
    parts = nn.ModuleList([embed, blocks, head])
    opt = torch.optim.AdamW(parts.parameters(), 1e-4)

    def step():
        opt.zero_grad()
        with torch.autocast(CUDA, torch.bfloat16):
            y = head(blocks(embed(words[:, :-1]), mask=mask, is_causal=True))
            loss = nn.functional.cross_entropy(y.flatten(0, 1), words[:, 1:].flatten())
        loss.backward()
        opt.step()

    until(seconds, step, batch=2)


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


def async_checkpoint(seconds):
    """Products at full speed; a thread writes checkpoints of 256 MB and syncs each, all the while, in nobody's way."""
    import torch
    a = torch.randn(8192, 8192, device=CUDA, dtype=torch.bfloat16)
    weights = torch.randn(1 << 26, device=CUDA)
    host = torch.empty(1 << 26).pin_memory()
    stop = threading.Event()

    def save():
        side = torch.cuda.Stream()
        while not stop.is_set():
            with torch.cuda.stream(side):
                host.copy_(weights, non_blocking=True)
            side.synchronize()
            with open("background.bin", "wb") as out:
                out.write(memoryview(host.numpy()))
                out.flush()
                os.fsync(out.fileno())
            stop.wait(0.2)

    thread = threading.Thread(target=save)
    thread.start()
    until(seconds, lambda: a @ a, batch=20)
    stop.set()
    thread.join()
    os.remove("background.bin")


def locked_turns(seconds):
    """Three processes take the GPU by turns: whoever has the lock of a file multiplies large matrices for 0.2 s, the others wait."""
    import fcntl
    others = []
    for _ in range(2):
        pid = os.fork()
        if pid == 0:
            others = None
            break
        others.append(pid)
    import torch
    a = torch.randn(8192, 8192, device=CUDA, dtype=torch.bfloat16)
    out = torch.empty_like(a)

    def step():
        with open("gpu.lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            for _ in range(120):
                torch.mm(a, a, out=out)
            torch.cuda.synchronize()
        time.sleep(0.01)

    until(seconds, step)
    if others is None:
        os._exit(0)
    for pid in others:
        os.waitpid(pid, 0)


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


def experts(seconds):
    """Sixteen experts of a transformer's layer as one batched product in bf16, and the loss read each time."""
    import torch
    weights = torch.randn(16, 4096, 8192, device=CUDA, dtype=torch.bfloat16)
    tokens = torch.randn(16, 2048, 4096, device=CUDA, dtype=torch.bfloat16)
    out = torch.empty(16, 2048, 8192, device=CUDA, dtype=torch.bfloat16)

    def step():
        for _ in range(8):
            torch.bmm(tokens, weights, out=out)
        out[0, 0, 0].item()

    until(seconds, step)
