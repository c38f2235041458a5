"""Programs whose first accepted limiter is host.network. `python3 run.py NAME SECONDS` runs one."""
import datetime
import os
import socket
import time

from common import CUDA, until


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


def gloo_ranks(seconds):
    """Two ranks exchange 270 MB of gradients over the loopback with gloo after each short step."""
    os.environ["GLOO_SOCKET_IFNAME"] = "lo"
    pid = os.fork()
    import torch
    import torch.distributed as dist
    from torch import nn
    dist.init_process_group("gloo", init_method=f"file://{os.getcwd()}/meeting", rank=int(pid == 0), world_size=2,
                            timeout=datetime.timedelta(seconds=30))
    net = nn.Sequential(*(nn.Linear(4096, 4096) for _ in range(4))).to(CUDA)
    x = torch.randn(256, 4096, device=CUDA)
    weights = list(net.parameters())
    flat = torch.zeros(sum(p.numel() for p in weights) + 1).pin_memory()
    parts = list(zip(weights, flat[:-1].split([p.numel() for p in weights])))
    end = time.time() + seconds
    while True:
        net(x).square().mean().backward()
        for p, part in parts:
            part.copy_(p.grad.view(-1))
        flat[-1] = float(time.time() < end)
        dist.all_reduce(flat)
        if flat[-1].item() < 1.5:
            break
        with torch.no_grad():
            for p, part in parts:
                p.sub_(part.to(CUDA).view_as(p), alpha=1e-4)
                p.grad = None
    dist.destroy_process_group()
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)
