"""Programs whose first accepted limiter is host.code. `python3 run.py NAME SECONDS` runs one."""
import io
import json
import logging
import math
import multiprocessing
import os
import random
import re
import threading
import time
import zlib

from common import CUDA, big_mlp_step, conv_step, until


def gil_threads(seconds):
    """Python threads that prepare samples in pure Python: one core in all."""
    import torch
    step = conv_step()
    ready, lock, stop = [], threading.Lock(), time.time() + seconds

    def work():
        while time.time() < stop:
            total = 0
            for i in range(200000):
                total += i * i % 7
            with lock:
                ready.append(total)

    threads = [threading.Thread(target=work) for _ in range(6)]
    for t in threads:
        t.start()
    x = torch.randn(8, 3, 256, 256)
    while time.time() < stop:
        with lock:
            n = len(ready)
            ready.clear()
        for _ in range(n):
            step(x)
        time.sleep(0.005)
    for t in threads:
        t.join()


def cpu_between(seconds):
    """Half a second of the GPU, half a second of numpy on one core, by turns."""
    import numpy as np
    import torch
    step = big_mlp_step()
    data = np.random.default_rng(0).random(3_000_000)

    def turn():
        for _ in range(20):
            step()
        torch.cuda.synchronize()
        np.sort(data)
        np.sort(data[::-1])

    until(seconds, turn)


def jax_recompile(seconds):
    """A new shape each time: the compiler works, the GPU hardly does."""
    import jax
    import jax.numpy as jnp
    end = time.time() + seconds
    n = 100
    while time.time() < end:
        n += 1
        f = jax.jit(lambda x: jnp.linalg.norm(jnp.tanh(x @ x.T) @ x + jnp.sin(x)))
        f(jnp.ones((n, n))).block_until_ready()


def no_workers(seconds):
    """A loader without workers: the main thread makes each batch."""
    import numpy as np
    import torch
    from torch import nn

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


def offload(seconds):
    """The optimizer's state lives on the host: gradients go there, weights come back."""
    import torch
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


def tokenize(seconds):
    """Pure Python prepares each batch for a large step."""
    import torch
    from torch import nn
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


def generator(seconds):
    """Random numbers on the CPU, one thread, moved to the device each step."""
    import torch
    from torch import nn
    net = nn.Linear(4096, 4096).to(CUDA)
    torch.set_num_threads(1)
    until(seconds, lambda: net(torch.randn(4096, 4096).to(CUDA)))


def json_lines(seconds):
    import torch
    from torch import nn
    lines = [json.dumps({"id": i, "tokens": list(range(200))}) for i in range(3000)]
    net = nn.Linear(200, 4096).to(CUDA)

    def step():
        rows = [json.loads(line)["tokens"] for line in lines]
        net(torch.tensor(rows, dtype=torch.float32, device=CUDA))

    until(seconds, step)


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


def eval_between(seconds):
    """A second of training, then a metric that plain Python computes, by turns."""
    import torch
    a = torch.randn(8192, 8192, device=CUDA, dtype=torch.bfloat16)
    end = time.time() + seconds
    while time.time() < end:
        until(0.6, lambda: a @ a, batch=10)
        scores = [random.random() for _ in range(1500000)]
        sum(s for s in sorted(scores) if s > 0.5)


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


def predictions_csv(seconds):
    """Predictions of a large batch come back and are written as text, value by value."""
    import torch
    net = torch.nn.Sequential(torch.nn.Linear(1024, 4096), torch.nn.ReLU(), torch.nn.Linear(4096, 64)).to(CUDA)
    x = torch.randn(8192, 1024, device=CUDA)
    with open("predictions.csv", "w", encoding="utf-8") as out, torch.inference_mode():
        until(seconds, lambda: out.writelines(",".join(f"{v:.4f}" for v in row) + "\n" for row in net(x).softmax(1).tolist()))


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


def small_copies(seconds):
    """A batch of 2,000 small tensors, each sent to the device by itself."""
    import torch
    parts = [torch.randn(64) for _ in range(2000)]

    def step():
        torch.stack([part.to(CUDA) for part in parts]).mean()

    until(seconds, step)


def unzip_main(seconds):
    """Each batch is unpacked with zlib in the training process; the net is small."""
    import torch
    packed = zlib.compress(os.urandom(1 << 20) * 24, 6)
    net = torch.nn.Linear(4096, 1024).to(CUDA)

    def step():
        raw = bytearray(zlib.decompress(packed))
        x = torch.frombuffer(raw, dtype=torch.uint8).to(CUDA).float().view(-1, 4096)
        net(x).mean().backward()

    until(seconds, step)


def model_left_loaded(seconds):
    """Half a second of inference; then, the model still on the GPU, its answers are counted in plain Python, one core."""
    import torch
    weights = [torch.randn(8192, 8192, device=CUDA, dtype=torch.bfloat16) for _ in range(40)]
    x = torch.randn(2048, 8192, device=CUDA, dtype=torch.bfloat16)

    def infer():
        for w in weights:
            x @ w

    until(0.5, infer)
    words = [f"w{i * 7919 % 10007}" for i in range(200000)]
    end = time.time() + seconds
    while time.time() < end:
        counts = {}
        for word in words:
            counts[word] = counts.get(word, 0) + 1
        sorted(counts.items(), key=lambda item: (-item[1], item[0]))


def answerer(pipe):
    """A process with the GPU: multiplies for some milliseconds for each text that it is given."""
    import torch
    a = torch.randn(4096, 4096, device=CUDA, dtype=torch.bfloat16)
    table = torch.randn(65536, 64, device=CUDA)
    a @ a
    torch.cuda.synchronize()
    pipe.send("ready")
    while True:
        ids = pipe.recv()
        if ids is None:
            return
        for _ in range(12):
            a @ a
        pipe.send(table[torch.tensor(ids, device=CUDA)].mean().item())


def parent_feeds(seconds):
    """Four processes hold the GPU and wait; their parent, which has no GPU, splits the texts for them in plain Python."""
    spawn = multiprocessing.get_context("spawn")
    workers = []
    for _ in range(4):
        here, there = spawn.Pipe()
        p = spawn.Process(target=answerer, args=(there,), daemon=True)
        p.start()
        workers.append((p, here))
    for _, pipe in workers:
        pipe.recv()
    text = " ".join(f"Word{i * 7919 % 10007}," for i in range(40000))
    pending = [False] * len(workers)
    turn = 0
    end = time.time() + seconds
    while time.time() < end:
        ids, known = [], {}
        for word in text.split():
            word = word.strip(",.").lower()
            number = known.setdefault(word, len(known))
            for c in word:
                number = (number * 31 + ord(c)) & 65535
            ids.append(number)
        k = turn % len(workers)
        if pending[k]:
            workers[k][1].recv()
        workers[k][1].send(ids[:4096])
        pending[k] = True
        turn += 1
    for (p, pipe), waits in zip(workers, pending):
        if waits:
            pipe.recv()
        pipe.send(None)
        p.join()


def gil_hog(seconds):
    """A thread counts words in plain Python all the while; each small operation of the training beside it waits for the interpreter."""
    import torch
    from torch import nn
    net = nn.Sequential(*(m for _ in range(4) for m in (nn.Linear(512, 512), nn.ReLU()))).to(CUDA)
    opt = torch.optim.SGD(net.parameters(), lr=1e-3)
    x = torch.randn(256, 512, device=CUDA)
    stop = threading.Event()
    words = [f"w{i * 7919 % 10007}" for i in range(50000)]

    def count():
        while not stop.is_set():
            counts = {}
            for word in words:
                counts[word] = counts.get(word, 0) + 1

    def step():
        opt.zero_grad()
        net(x).square().mean().backward()
        opt.step()

    thread = threading.Thread(target=count, daemon=True)
    thread.start()
    until(seconds, step)
    stop.set()
    thread.join()


def python_rules(seconds):
    """A Python loop over a list for each small batch."""
    import torch
    net = torch.nn.Linear(512, 512).to(CUDA)

    def step():
        values = [math.sin(i) * i for i in range(100000)]
        net(torch.tensor(values[:512], device=CUDA)).sum().item()

    until(seconds, step)


def regex_clean(seconds):
    """Texts are cleaned with regular expressions before each small step."""
    import torch
    net = torch.nn.EmbeddingBag(5000, 256).to(CUDA)
    texts = [f"Item {i}: <b>price</b> {i * 37 % 1000}.99 &amp; more,   see http://x{i}.example/{i}" * 20 for i in range(200)]

    def step():
        clean = [re.sub(r"<[^>]+>|&\w+;|https?://\S+|\s+", " ", text) for text in texts]
        net(torch.tensor([[len(text) % 5000 for text in clean]], device=CUDA)).sum().backward()

    until(seconds, step)


def log_lines(seconds):
    """Each small step writes two hundred lines to a log."""
    import torch
    log = logging.getLogger("train")
    log.addHandler(logging.StreamHandler(io.StringIO()))
    log.setLevel(logging.INFO)
    x = torch.rand(64, 64, device=CUDA)

    def step():
        for i in range(200):
            log.info("sample %d of the batch: weight %.4f, length %d", i, i / 7, i * 3)
        (x @ x).sum().item()

    until(seconds, step)
