"""Programs whose first accepted limiter is parallelism. `python3 run.py NAME SECONDS` runs one."""
import time

from common import CUDA, small_mlp, until


def mlp_graph(seconds):
    import torch
    step = small_mlp()
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        for _ in range(3):
            step()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(20):
            step()
    until(seconds, graph.replay, batch=20)


def single_thread(seconds):
    """A kernel of one thread that spins: the engine is busy, the SMs are not."""
    import torch
    until(seconds, lambda: torch.cuda._sleep(50_000_000), batch=4)


def one_small_gemm_stream(seconds):
    """Products of middle size, one after the other, in a graph: half of the SMs have nothing to do."""
    import torch
    a = torch.randn(512, 2048, device=CUDA, dtype=torch.bfloat16)
    b = torch.randn(2048, 512, device=CUDA, dtype=torch.bfloat16)
    a @ b
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(200):
            a @ b
    until(seconds, graph.replay, batch=10)


def lstm(seconds):
    import torch
    from torch import nn
    net = nn.LSTM(256, 256, 2).to(CUDA)
    x = torch.randn(1000, 8, 256, device=CUDA)
    with torch.no_grad():
        until(seconds, lambda: net(x), batch=2)


def jax_scan(seconds):
    import jax
    import jax.numpy as jnp

    @jax.jit
    def roll(x, w):
        def cell(h, _):
            return jnp.tanh(h @ w), None
        return jax.lax.scan(cell, x, None, length=2000)[0]

    x, w = jnp.ones((8, 128)), jnp.eye(128)
    end = time.time() + seconds
    while time.time() < end:
        roll(x, w).block_until_ready()


def eig_small(seconds):
    """Eigenvalues of one matrix of 256 rows at a time."""
    import torch
    a = torch.randn(256, 256, device=CUDA, dtype=torch.float64)
    a = a @ a.t()
    until(seconds, lambda: torch.linalg.eigh(a), batch=5)


def cumsum_rows(seconds):
    """Running sums along sixteen long rows: a block for each."""
    import torch
    x = torch.rand(16, 1 << 22, device=CUDA)
    until(seconds, lambda: torch.cumsum(x, 1), batch=4)


def jax_anakin(seconds):
    """JAX: 256 poles on carts and the policy that learns from them, all on the device in one scan of small steps."""
    import jax
    import jax.numpy as jnp

    def act(w, s):
        return jnp.tanh(s @ w[0]) @ w[1]

    @jax.jit
    def learn(w, key):
        def move(carry, _):
            s, key = carry
            key, now = jax.random.split(key)
            chosen = jax.random.categorical(now, act(w, s))
            push = chosen * 2.0 - 1.0
            x, dx, angle, turn = s[:, 0], s[:, 1], s[:, 2], s[:, 3]
            turn = turn + 0.02 * (9.8 * jnp.sin(angle) - push * jnp.cos(angle))
            dx = dx + 0.02 * push
            new = jnp.stack([x + 0.02 * dx, dx, angle + 0.02 * turn, turn], 1)
            new = jnp.where(jnp.abs(new[:, 2:3]) > 0.5, 0.01, new)
            return (new, key), (s, chosen, -jnp.abs(new[:, 2]))

        key, first = jax.random.split(key)
        start = 0.05 * jax.random.normal(first, (256, 4))
        _, (seen, chosen, reward) = jax.lax.scan(move, (start, key), None, length=500)

        def loss(w):
            told = jnp.take_along_axis(jax.nn.log_softmax(act(w, seen)), chosen[..., None], -1)[..., 0]
            return -jnp.mean(told * reward)

        return [a - 1e-2 * b for a, b in zip(w, jax.grad(loss)(w))], key

    key = jax.random.PRNGKey(0)
    w = [0.1 * jax.random.normal(key, (4, 64)), 0.1 * jax.random.normal(key, (64, 2))]
    w, key = learn(w, key)
    w[0].block_until_ready()
    end = time.time() + seconds
    while time.time() < end:
        w, key = learn(w, key)
        w[0].block_until_ready()


def ssm_graph(seconds):
    """A state space model reads one sequence word by word in float32: a CUDA graph of thousands of kernels on 32,768 numbers."""
    import torch
    length, channels, states = 2048, 2048, 16
    decay = torch.rand(length, channels, states, device=CUDA)
    drive = torch.randn(length, channels, states, device=CUDA)
    read = torch.randn(length, states, device=CUDA)
    out = torch.empty(length, channels, device=CUDA)
    h = torch.zeros(channels, states, device=CUDA)

    def scan(words):
        h.zero_()
        for t in range(words):
            h.mul_(decay[t]).add_(drive[t])
            torch.sum(h * read[t], -1, out=out[t])

    with torch.inference_mode():
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            scan(8)
        torch.cuda.current_stream().wait_stream(side)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            scan(length)
        until(seconds, graph.replay, batch=4)


def small_graph(seconds):
    """A recurrent cell for one sample, 200 times in a CUDA graph."""
    import torch
    cell = torch.nn.GRUCell(128, 128).to(CUDA)
    x, h = torch.rand(1, 128, device=CUDA), torch.rand(1, 128, device=CUDA)

    def roll():
        state = h
        for _ in range(200):
            state = cell(x, state)
        return state

    with torch.no_grad():
        side = torch.cuda.Stream()
        with torch.cuda.stream(side):
            roll()
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            roll()
        until(seconds, lambda: [graph.replay() for _ in range(20)])
