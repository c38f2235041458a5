"""More small real programs whose limit an expert knows. `python3 more.py NAME SECONDS` runs one."""
import http.server
import multiprocessing
import os
import queue
import socket
import sys
import threading
import time
import urllib.request

import numpy as np
import torch
from torch import nn

CUDA = "cuda"


def until(seconds, step, sync=True, batch=1):
    """Calls step() again and again for so long."""
    end = time.time() + seconds
    while time.time() < end:
        for _ in range(batch):
            step()
        if sync:
            torch.cuda.synchronize()


def resnet(seconds):
    import torchvision
    net = torchvision.models.resnet50().to(CUDA, memory_format=torch.channels_last)
    opt = torch.optim.SGD(net.parameters(), lr=0.01)
    x = torch.randn(256, 3, 224, 224, device=CUDA).to(memory_format=torch.channels_last)
    y = torch.randint(0, 1000, (256,), device=CUDA)

    def step():
        opt.zero_grad()
        with torch.autocast(CUDA, torch.bfloat16):
            loss = nn.functional.cross_entropy(net(x), y)
        loss.backward()
        opt.step()

    until(seconds, step, batch=2)


def decoder(width, layers, heads):
    layer = nn.TransformerEncoderLayer(width, heads, 4 * width, batch_first=True, norm_first=True)
    return nn.TransformerEncoder(layer, layers, enable_nested_tensor=False).to(CUDA, torch.bfloat16).eval()


def decode_eager(seconds):
    net = decoder(512, 12, 8)
    x = torch.randn(1, 1, 512, device=CUDA, dtype=torch.bfloat16)
    with torch.inference_mode():
        until(seconds, lambda: net(x), batch=10)


def prefill(seconds):
    net = decoder(4096, 8, 32)
    x = torch.randn(8, 2048, 4096, device=CUDA, dtype=torch.bfloat16)
    with torch.inference_mode():
        until(seconds, lambda: net(x), batch=2)


def no_workers(seconds):
    """A loader without workers: the main thread makes each batch."""

    class Data(torch.utils.data.Dataset):
        def __len__(self):
            return 1 << 30

        def __getitem__(self, i):
            rng = np.random.default_rng(i)
            return torch.from_numpy(np.sort(rng.random((3, 256, 256), dtype=np.float32), axis=2))

    net = nn.Sequential(nn.Conv2d(3, 64, 7, 2), nn.ReLU(), nn.Conv2d(64, 128, 3, 2), nn.ReLU()).to(CUDA)
    end = time.time() + seconds
    for x in torch.utils.data.DataLoader(Data(), batch_size=32):
        net(x.to(CUDA)).mean().backward()
        if time.time() > end:
            break


def socket_feed(seconds):
    """Batches come slowly from a server."""
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


def sparse(seconds):
    n = 1 << 20
    rows = torch.randint(0, n, (50_000_000,), device=CUDA)
    cols = torch.randint(0, n, (50_000_000,), device=CUDA)
    m = torch.sparse_coo_tensor(torch.stack([rows, cols]), torch.ones(50_000_000, device=CUDA), (n, n)).to_sparse_csr()
    x = torch.randn(n, 32, device=CUDA)
    until(seconds, lambda: m @ x)


def fft(seconds):
    x = torch.randn(64, 1 << 22, dtype=torch.complex64, device=CUDA)
    until(seconds, lambda: torch.fft.fft(x), batch=4)


def sort(seconds):
    x = torch.rand(1 << 28, device=CUDA)
    until(seconds, lambda: torch.sort(x))


def gemm_tf32(seconds):
    torch.backends.cuda.matmul.allow_tf32 = True
    a = torch.randn(8192, 8192, device=CUDA)
    until(seconds, lambda: a @ a, batch=4)


def gemm_fp8(seconds):
    a = torch.randn(8192, 8192, device=CUDA).to(torch.float8_e4m3fn)
    b = torch.randn(8192, 8192, device=CUDA).to(torch.float8_e4m3fn).t()
    one = torch.ones((), device=CUDA)
    until(seconds, lambda: torch._scaled_mm(a, b, one, one, out_dtype=torch.bfloat16), batch=10)


def offload(seconds):
    """The optimizer's state lives on the host: gradients go there, weights come back."""
    n = 200_000_000
    grad = torch.randn(n, device=CUDA)
    weight = torch.randn(n, device=CUDA)
    host_grad = torch.empty(n).pin_memory()
    host_weight = torch.randn(n).pin_memory()
    m, v = torch.zeros(n), torch.zeros(n)

    def step():
        host_grad.copy_(grad, non_blocking=True)
        torch.cuda.synchronize()
        m.mul_(0.9).add_(host_grad, alpha=0.1)
        v.mul_(0.99).addcmul_(host_grad, host_grad, value=0.01)
        host_weight.addcdiv_(m, v.sqrt().add_(1e-8), value=-1e-3)
        weight.copy_(host_weight, non_blocking=True)

    until(seconds, step)


def web_server(seconds):
    """Answers a request now and then."""
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
    a = torch.randn(8192, 8192, device=CUDA, dtype=torch.bfloat16)
    until(seconds / 3, lambda: a @ a, batch=10)
    time.sleep(seconds * 2 / 3)


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


def tokenize(seconds):
    """Pure Python prepares each batch for a large step."""
    words = [f"w{i}" for i in range(5000)]
    net = nn.Sequential(nn.Embedding(60000, 2048), nn.Linear(2048, 8192), nn.GELU(), nn.Linear(8192, 2048)).to(CUDA, torch.bfloat16)

    def step():
        table = {}
        ids = []
        for k in range(60):
            for w in words:
                ids.append(table.setdefault(w + str(k % 7), len(table)))
        net(torch.tensor(ids[:16384], device=CUDA))

    until(seconds, step)


def producer(out):
    rng = np.random.default_rng(os.getpid())
    while True:
        out.put(np.sort(rng.random((64, 65536), dtype=np.float32), axis=1))


def queue_of_processes(seconds):
    """Batches come from processes of the program's own making."""
    context = multiprocessing.get_context("fork")
    batches = context.Queue(8)
    workers = [context.Process(target=producer, args=(batches,), daemon=True) for _ in range(6)]
    for w in workers:
        w.start()
    net = nn.Sequential(nn.Linear(65536, 512), nn.ReLU(), nn.Linear(512, 10)).to(CUDA)
    until(seconds, lambda: net(torch.from_numpy(batches.get()).to(CUDA)).mean().backward())
    for w in workers:
        w.kill()
    os._exit(0)


def threads_that_compute(seconds):
    """Loader threads whose numpy work leaves the interpreter free."""
    batches = queue.Queue(8)
    stop = time.time() + seconds

    def work():
        rng = np.random.default_rng(threading.get_ident() % 1000)
        while time.time() < stop:
            try:
                batches.put(np.sort(rng.random((32, 131072), dtype=np.float32), axis=1), timeout=0.5)
            except queue.Full:
                pass

    for _ in range(6):
        threading.Thread(target=work, daemon=True).start()
    net = nn.Linear(131072, 256).to(CUDA)
    until(seconds - 1, lambda: net(torch.from_numpy(batches.get()).to(CUDA)).mean().backward())


def overlapped(seconds):
    """Pinned copies hidden behind products: the products are what takes the time."""
    host = torch.randn(4096, 4096, dtype=torch.bfloat16).pin_memory()
    a = torch.randn(8192, 8192, device=CUDA, dtype=torch.bfloat16)
    side = torch.cuda.Stream()

    def step():
        with torch.cuda.stream(side):
            host.to(CUDA, non_blocking=True)
        for _ in range(4):
            a @ a

    until(seconds, step, batch=4)


def one_small_gemm_stream(seconds):
    """Products of middle size, one after the other, in a graph: half of the SMs have nothing to do."""
    a = torch.randn(512, 2048, device=CUDA, dtype=torch.bfloat16)
    b = torch.randn(2048, 512, device=CUDA, dtype=torch.bfloat16)
    a @ b
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(200):
            a @ b
    until(seconds, graph.replay, batch=10)


def generator(seconds):
    """Random numbers on the CPU, one thread, moved to the device each step."""
    net = nn.Linear(4096, 4096).to(CUDA)
    torch.set_num_threads(1)
    until(seconds, lambda: net(torch.randn(4096, 4096).to(CUDA)))


def main():
    globals()[sys.argv[1]](float(sys.argv[2]))


if __name__ == "__main__":
    main()
