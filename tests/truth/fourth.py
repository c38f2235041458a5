"""A fourth set of small real programs whose limit an expert knows. `python3 fourth.py NAME SECONDS` runs one.

What is accepted of each is in labels.csv (of one that waits for its recording in fourth.csv), written before any of them ran.
"""
import multiprocessing
import os
import random
import socket
import sys
import time

CUDA = "cuda"


def until(seconds, step, batch=1):
    """Calls step() again and again for so long, after a first call that loads what it needs."""
    import torch
    step()
    torch.cuda.synchronize()
    end = time.time() + seconds
    while time.time() < end:
        for _ in range(batch):
            step()
        torch.cuda.synchronize()


def simulator(pipe):
    """Plays one pole on a cart after the other, in Python, as slowly as simulators are."""
    state = [0.0] * 4
    while True:
        push = pipe.recv()
        for _ in range(20000):
            state[0] += 0.02 * state[1]
            state[1] += 0.02 * (push - state[0])
            state[2] = (state[2] + state[3]) % 3.0
            state[3] = random.random() - 0.5
        pipe.send(list(state))


def rl_vector(seconds):
    """Reinforcement learning: eight simulators in processes, a policy on the GPU that waits for them."""
    context = multiprocessing.get_context("fork")
    pipes = []
    for _ in range(8):
        here, there = context.Pipe()
        context.Process(target=simulator, args=(there,), daemon=True).start()
        pipes.append(here)
    import torch
    from torch import nn
    net = nn.Sequential(nn.Linear(4, 256), nn.Tanh(), nn.Linear(256, 1)).to(CUDA)
    actions = [0.1] * len(pipes)

    def step():
        nonlocal actions
        for pipe, push in zip(pipes, actions):
            pipe.send(push)
        seen = torch.tensor([pipe.recv() for pipe in pipes], device=CUDA)
        actions = net(seen).squeeze(1).tolist()

    until(seconds, step)
    os._exit(0)


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


def token_server(seconds):
    """A server: splits a text in Python, decodes a little, sends the words back, and waits for the next request."""
    import torch
    from torch import nn
    layer = nn.TransformerEncoderLayer(1024, 16, 4096, batch_first=True).to(CUDA, torch.bfloat16).eval()
    text = " ".join(f"token{i % 997}" for i in range(40000))

    def step():
        table = {}
        ids = [table.setdefault(word[:k], len(table)) for word in text.split() for k in range(2, 8)]
        x = torch.randn(1, 32, 1024, device=CUDA, dtype=torch.bfloat16)
        for _ in range(30):
            x = layer(x)
        torch.cuda.synchronize()
        time.sleep(0.15 + 0.01 * (len(ids) % 3))

    with torch.inference_mode():
        until(seconds, step)


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


def eval_between(seconds):
    """A second of training, then a metric that plain Python computes, by turns."""
    import torch
    a = torch.randn(8192, 8192, device=CUDA, dtype=torch.bfloat16)
    end = time.time() + seconds
    while time.time() < end:
        until(0.6, lambda: a @ a, batch=10)
        scores = [random.random() for _ in range(1500000)]
        sum(s for s in sorted(scores) if s > 0.5)


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


def kv_decode(seconds):
    """Attention of one new token over long caches."""
    import torch
    f = torch.nn.functional
    q = torch.randn(64, 16, 1, 128, device=CUDA, dtype=torch.bfloat16)
    k, v = (torch.randn(64, 16, 8192, 128, device=CUDA, dtype=torch.bfloat16) for _ in range(2))
    until(seconds, lambda: f.scaled_dot_product_attention(q, k, v), batch=50)


def retrace(seconds):
    """torch.compile meets a new shape each time: it traces again and again, on one core."""
    import torch
    from torch import nn
    torch._dynamo.config.cache_size_limit = 1 << 20
    net = nn.Sequential(*(nn.Sequential(nn.Linear(64, 64), nn.GELU(), nn.LayerNorm(64)) for _ in range(8))).to(CUDA)
    fast = torch.compile(net, backend="aot_eager", dynamic=False)
    n = 1

    def step():
        nonlocal n
        n += 1
        fast(torch.randn(n, 64, device=CUDA))

    until(seconds, step)


def network_feed(seconds):
    """Batches come over a socket at some 150 MB/s, which takes little CPU on either side."""
    server = socket.create_server(("127.0.0.1", 0))
    if os.fork() == 0:
        peer, _ = server.accept()
        block = bytes(8 << 20)
        try:
            while True:
                peer.sendall(block)
                time.sleep(0.05)
        finally:
            os._exit(0)
    feed = socket.create_connection(server.getsockname())
    import torch
    kept = bytearray(16 << 20)
    net = torch.nn.Linear(4096, 4096).to(CUDA)

    def step():
        view, left = memoryview(kept), len(kept)
        while left > 0:
            left -= feed.recv_into(view[:left], left)
        net(torch.randn(256, 4096, device=CUDA))

    until(seconds, step)
    feed.close()


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


def poly_fp64(seconds):
    """JAX: a polynomial of degree 256 in double precision, one kernel."""
    polynomial(seconds, "float64")


def poly_fp16(seconds):
    """The same in half precision, without tensor cores."""
    polynomial(seconds, "float16")


def hash_int(seconds):
    """Integers only: rounds of shifts and exclusive ors, in registers."""
    import torch
    code = """template <typename T> T scramble(T x) {
        unsigned h = (unsigned)x;
        for (int i = 0; i < 400; i++) { h ^= h << 13; h ^= h >> 17; h ^= h << 5; }
        return (T)h; }"""
    scramble = torch.cuda.jiterator._create_jit_fn(code)
    x = torch.arange(1, 1 << 26, device=CUDA, dtype=torch.int32)
    until(seconds, lambda: scramble(x), batch=10)


def jax_callback(seconds):
    """A jitted step that asks numpy on the host each time."""
    import jax
    import jax.numpy as jnp
    import numpy as np
    shape = jax.ShapeDtypeStruct((1 << 20,), jnp.float32)

    @jax.jit
    def step(x):
        return jnp.tanh(jax.pure_callback(lambda y: np.sort(np.asarray(y)).astype(np.float32), shape, x * 1.01))

    x = jax.random.normal(jax.random.PRNGKey(0), (1 << 20,))
    key = 0
    end = time.time() + seconds
    while time.time() < end:
        key += 1
        x = step(x + jax.random.normal(jax.random.PRNGKey(key), (1 << 20,)))
        x.block_until_ready()


def scatter_add(seconds):
    """Messages of a graph network: sums at random places."""
    import torch
    to = torch.randint(0, 1 << 22, (1 << 24,), device=CUDA)
    message = torch.randn(1 << 24, 32, device=CUDA)
    out = torch.zeros(1 << 22, 32, device=CUDA)
    until(seconds, lambda: out.index_add_(0, to, message), batch=5)


def never_used(seconds):
    """A script on a GPU node that never asks for the GPU."""
    time.sleep(seconds + 2)


def save_often(seconds):
    """A second of training, then a checkpoint of 2 GB that is written out, by turns."""
    import torch
    a = torch.randn(8192, 8192, device=CUDA, dtype=torch.bfloat16)
    weights = [torch.randn(1 << 27, device=CUDA) for _ in range(4)]
    end = time.time() + seconds
    while time.time() < end:
        until(0.4, lambda: a @ a, batch=10)
        with open("checkpoint.pt", "wb") as out:
            torch.save([w.cpu() for w in weights], out)
            out.flush()
            os.fsync(out.fileno())
    os.remove("checkpoint.pt")


if __name__ == "__main__":
    globals()[sys.argv[1]](float(sys.argv[2]))
