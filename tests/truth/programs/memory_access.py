"""Programs whose first accepted limiter is memory.access. `python3 run.py NAME SECONDS` runs one."""

from common import CUDA, until


def gather(seconds):
    import torch
    table = torch.randn(1 << 30, device=CUDA)
    where = torch.randint(0, 1 << 30, (1 << 26,), device=CUDA)
    until(seconds, lambda: table[where], batch=4)


def sparse(seconds):
    import torch
    n = 1 << 20
    rows = torch.randint(0, n, (50_000_000,), device=CUDA)
    cols = torch.randint(0, n, (50_000_000,), device=CUDA)
    m = torch.sparse_coo_tensor(torch.stack([rows, cols]), torch.ones(50_000_000, device=CUDA), (n, n)).to_sparse_csr()
    x = torch.randn(n, 32, device=CUDA)
    until(seconds, lambda: m @ x)


def embedding(seconds):
    import torch
    from torch import nn
    table = nn.EmbeddingBag(100_000_000, 64, mode="sum", device=CUDA)
    ids = torch.randint(0, 100_000_000, (1 << 22,), device=CUDA)
    offsets = torch.arange(0, 1 << 22, 32, device=CUDA)
    with torch.no_grad():
        until(seconds, lambda: table(ids, offsets), batch=10)


def scatter_add(seconds):
    """Messages of a graph network: sums at random places."""
    import torch
    to = torch.randint(0, 1 << 22, (1 << 24,), device=CUDA)
    message = torch.randn(1 << 24, 32, device=CUDA)
    out = torch.zeros(1 << 22, 32, device=CUDA)
    until(seconds, lambda: out.index_add_(0, to, message), batch=5)


def beam_deposit(seconds):
    """Particles in a cell: 33 million of a narrow beam leave charge and currents on a grid in float64, all on the same few cells."""
    import torch
    n, side = 1 << 25, 128
    x, y, vx, vy = (torch.randn(n, device=CUDA, dtype=torch.float64) for _ in range(4))
    fields = torch.zeros(3, side * side, device=CUDA, dtype=torch.float64)

    def step():
        vx.sub_(x, alpha=0.02)
        vy.sub_(y, alpha=0.02)
        x.add_(vx, alpha=0.02)
        y.add_(vy, alpha=0.02)
        column, row = (x + side / 2).clamp_(1, side - 3), (y + side / 2).clamp_(1, side - 3)
        i, j = column.floor(), row.floor()
        cell = (j * side + i).long()
        right, below = column - i, row - j
        fields.zero_()
        for d, share in ((0, (1 - right) * (1 - below)), (1, right * (1 - below)), (side, (1 - right) * below), (side + 1, right * below)):
            to = cell + d
            fields[0].scatter_add_(0, to, share)
            fields[1].scatter_add_(0, to, share * vx)
            fields[2].scatter_add_(0, to, share * vy)

    until(seconds, step)


def short_rows(seconds):
    """Rows of 64 bytes from all over a table of 8 GB."""
    import torch
    table = torch.rand(1 << 27, 16, device=CUDA)
    where = torch.randint(0, 1 << 27, (1 << 23,), device=CUDA)
    out = torch.empty(1 << 23, 16, device=CUDA)
    until(seconds, lambda: [torch.index_select(table, 0, where, out=out) for _ in range(4)])
