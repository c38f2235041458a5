"""Programs whose first accepted limiter is host.waiting. `python3 run.py NAME SECONDS` runs one."""
import http.server
import os
import socket
import threading
import time
import urllib.request

from common import CUDA, big_mlp_step, decoder, until


def sleeping_steps(seconds):
    """Something else is waited for after each step: a lock, a queue, another machine."""
    import torch
    step = big_mlp_step()

    def slow():
        for _ in range(5):
            step()
        torch.cuda.synchronize()
        time.sleep(0.4)

    until(seconds, slow)


def socket_feed(seconds):
    """Batches come slowly from a server."""
    import torch
    from torch import nn
    server = socket.create_server(("127.0.0.1", 0))
    if os.fork() == 0:
        peer, _ = server.accept()
        block = bytes(1 << 20)
        try:
            while True:
                peer.sendall(block)
                time.sleep(0.1)
        finally:
            os._exit(0)
    feed = socket.create_connection(server.getsockname())
    net = nn.Linear(4096, 4096).to(CUDA)

    def step():
        left = 4 << 20
        while left > 0:
            left -= len(feed.recv(min(left, 1 << 20)))
        net(torch.randn(64, 4096, device=CUDA))

    until(seconds, step)
    feed.close()


def web_server(seconds):
    """Answers a request now and then."""
    import torch
    net = decoder(1024, 8, 16)
    x = torch.randn(4, 128, 1024, device=CUDA, dtype=torch.bfloat16)

    class Answer(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            with torch.inference_mode():
                text = str(net(x).float().mean().item()).encode()
            self.send_response(200)
            self.end_headers()
            self.wfile.write(text)

        def log_message(self, *_):
            pass

    server = http.server.HTTPServer(("127.0.0.1", 0), Answer)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    end = time.time() + seconds
    while time.time() < end:
        urllib.request.urlopen(f"http://127.0.0.1:{server.server_port}/").read()
        time.sleep(0.7)


def work_then_wait(seconds):
    import torch
    a = torch.randn(8192, 8192, device=CUDA, dtype=torch.bfloat16)
    until(seconds / 3, lambda: a @ a, batch=10)
    time.sleep(seconds * 2 / 3)


def jax_paced(seconds):
    """JAX: a jitted model that answers twenty requests a second and sleeps between."""
    import jax
    import jax.numpy as jnp
    w = jax.random.normal(jax.random.PRNGKey(0), (4096, 4096), jnp.bfloat16)

    @jax.jit
    def model(x):
        for _ in range(8):
            x = jnp.tanh(x @ w)
        return x.sum()

    x = jnp.ones((512, 4096), jnp.bfloat16)
    model(x).block_until_ready()
    end = time.time() + seconds
    while time.time() < end:
        model(x).block_until_ready()
        time.sleep(0.045)


def notebook(seconds):
    """Somebody runs a cell, looks at the result, and runs the next."""
    import torch
    x = torch.randn(8192, 8192, device=CUDA)
    end = time.time() + seconds + 2
    while time.time() < end:
        until(0.3, lambda: x @ x, batch=2)
        time.sleep(2.4)


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


def two_tempos(seconds):
    """A thread that answers requests every 0.4 s and rests between."""
    import torch
    a = torch.rand(4096, 4096, device=CUDA)

    def serve():
        until(seconds, lambda: [(a @ a).sum().item(), time.sleep(0.4)])

    t = threading.Thread(target=serve)
    t.start()
    t.join()


def polled_file(seconds):
    """The program looks every 20 ms whether its next batch has been written, which takes half a second."""
    import torch
    x = torch.rand(2048, 2048, device=CUDA)

    def step():
        ready = time.time() + 0.5
        while time.time() < ready:
            time.sleep(0.02)
        (x @ x).sum().item()

    until(seconds, step)
