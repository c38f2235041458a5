"""A fifth set of small real programs whose limit an expert knows. `python3 fifth.py NAME SECONDS` runs one.

What is accepted of each is in labels.csv, written before any of them ran.
"""
import mmap
import os
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


def augment_main(seconds):
    """Images are cropped, turned and scaled with numpy in the training process, then a convolutional net learns from them."""
    import numpy as np
    import torch
    from torch import nn
    rng = np.random.default_rng(0)
    images = rng.integers(0, 255, (64, 288, 288, 3), dtype=np.uint8)
    net = nn.Sequential(nn.Conv2d(3, 128, 7, 4), nn.ReLU(), nn.Conv2d(128, 256, 3, 2), nn.ReLU(), nn.AdaptiveAvgPool2d(1)).to(CUDA)

    def one(image):
        top, left = rng.integers(0, 64, 2)
        crop = image[top:top + 224, left:left + 224]
        if rng.random() < 0.5:
            crop = crop[:, ::-1]
        crop = np.clip(crop.astype(np.float32) * rng.uniform(0.8, 1.2) + rng.normal(0, 4, crop.shape), 0, 255)
        return np.ascontiguousarray((crop / 255 - 0.45).transpose(2, 0, 1), dtype=np.float32)

    def step():
        batch = torch.from_numpy(np.stack([one(image) for image in images])).to(CUDA)
        net(batch).mean().backward()

    until(seconds, step)


def cold_mmap(seconds):
    """Rows at random from a mapped file of 2 GB that is not in the page cache."""
    import numpy as np
    import torch
    size, block = 2 << 30, bytes(os.urandom(1 << 20)) * 64
    with open("table.bin", "wb") as out:
        for _ in range(size // len(block)):
            out.write(block)
        out.flush()
        os.fsync(out.fileno())
    file = os.open("table.bin", os.O_RDONLY)
    rng = np.random.default_rng(0)
    row, rows = 256 << 10, size // (256 << 10)
    net = torch.nn.Linear(256, 256).to(CUDA)

    def step():
        os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
        with mmap.mmap(file, size, prot=mmap.PROT_READ) as table:
            for i in rng.permutation(rows)[:1024]:
                taken = np.frombuffer(table, np.uint8, row, int(i) * row)
                x = torch.from_numpy(taken[::256].astype(np.float32).reshape(-1, 256)).to(CUDA)
                del taken
                net(x)

    until(seconds, step)
    os.remove("table.bin")


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


def eig_small(seconds):
    """Eigenvalues of one matrix of 256 rows at a time."""
    import torch
    a = torch.randn(256, 256, device=CUDA, dtype=torch.float64)
    a = a @ a.t()
    until(seconds, lambda: torch.linalg.eigh(a), batch=5)


def jax_nbody(seconds):
    """JAX: all pairs of 65,536 bodies, float32, one fused kernel a step."""
    import jax
    import jax.numpy as jnp

    @jax.jit
    def step(p, v):
        def pull(rows):
            dx, dy, dz = (p[None, :, k] - rows[:, None, k] for k in range(3))
            r = jax.lax.rsqrt(dx * dx + dy * dy + dz * dz + 1e-3)
            r = r * r * r
            return jnp.stack([(dx * r).sum(1), (dy * r).sum(1), (dz * r).sum(1)], 1)
        v = v + 1e-6 * jax.lax.map(pull, p.reshape(16, 4096, 3)).reshape(p.shape)
        return p + 1e-3 * v, v

    p = jax.random.normal(jax.random.PRNGKey(0), (65536, 3))
    v = jnp.zeros_like(p)
    p, v = step(p, v)
    p.block_until_ready()
    end = time.time() + seconds
    while time.time() < end:
        p, v = step(p, v)
        p.block_until_ready()


def jax_device_put(seconds):
    """JAX: a numpy batch of 1 GB goes to the device for each cheap step."""
    import jax
    import jax.numpy as jnp
    import numpy as np
    batch = np.ones((1 << 14, 1 << 14), np.float32)
    total = jax.jit(lambda x: jnp.sum(x * 2))
    total(jax.device_put(batch)).block_until_ready()
    end = time.time() + seconds
    while time.time() < end:
        total(jax.device_put(batch)).block_until_ready()


def notebook(seconds):
    """Somebody runs a cell, looks at the result, and runs the next."""
    import torch
    x = torch.randn(8192, 8192, device=CUDA)
    end = time.time() + seconds + 2
    while time.time() < end:
        until(0.3, lambda: x @ x, batch=2)
        time.sleep(2.4)


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


def predictions_csv(seconds):
    """Predictions of a large batch come back and are written as text, value by value."""
    import torch
    net = torch.nn.Sequential(torch.nn.Linear(1024, 4096), torch.nn.ReLU(), torch.nn.Linear(4096, 64)).to(CUDA)
    x = torch.randn(8192, 1024, device=CUDA)
    with open("predictions.csv", "w", encoding="utf-8") as out, torch.inference_mode():
        until(seconds, lambda: out.writelines(",".join(f"{v:.4f}" for v in row) + "\n" for row in net(x).softmax(1).tolist()))


def prefetch_h2d(seconds):
    """Batches of 512 MB are copied ahead in a stream of their own while products run that take half as long."""
    import torch
    host = [torch.empty(1 << 27).pin_memory() for _ in range(2)]
    device = [torch.empty(1 << 27, device=CUDA) for _ in range(2)]
    a = torch.randn(8192, 8192, device=CUDA, dtype=torch.bfloat16)
    side, ready, turn = torch.cuda.Stream(), torch.cuda.Event(), 0

    def step():
        nonlocal turn
        turn ^= 1
        with torch.cuda.stream(side):
            device[turn].copy_(host[turn], non_blocking=True)
            ready.record()
        for _ in range(3):
            a @ a
        torch.cuda.current_stream().wait_event(ready)
        side.wait_stream(torch.cuda.current_stream())

    until(seconds, step, batch=8)


def cumsum_rows(seconds):
    """Running sums along sixteen long rows: a block for each."""
    import torch
    x = torch.rand(16, 1 << 22, device=CUDA)
    until(seconds, lambda: torch.cumsum(x, 1), batch=4)


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


def cpu_embedding(seconds):
    """A recommender: the table of 4 GB stays on the host, its rows are gathered and summed there by the main process's threads."""
    import torch
    table = torch.ones(1 << 23, 128)
    bag = torch.nn.EmbeddingBag.from_pretrained(table, mode="sum")
    net = torch.nn.Sequential(torch.nn.Linear(128, 1024), torch.nn.ReLU(), torch.nn.Linear(1024, 1)).to(CUDA)

    def step():
        ids = torch.randint(0, 1 << 23, (4096, 256))
        net(bag(ids).to(CUDA)).mean().backward()

    until(seconds, step)


def empty_cache(seconds):
    """Memory is given back to the driver after each small step and asked for again."""
    import torch

    def step():
        kept = [torch.empty(256 << 20, device=CUDA, dtype=torch.uint8) for _ in range(16)]
        kept[0][:1024].add_(1)
        torch.cuda.synchronize()
        kept.clear()
        torch.cuda.empty_cache()

    until(seconds, step)


if __name__ == "__main__":
    globals()[sys.argv[1]](float(sys.argv[2]))
