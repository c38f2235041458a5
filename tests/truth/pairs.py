"""One training of 300 steps in variants whose difference is known, for `assay diff`.

`python3 pairs.py VARIANT` trains; `python3 pairs.py record ASSAY FOLDER` records every variant with `assay run`,
`record ASSAY FOLDER starved small` these alone; `python3 pairs.py compare ASSAY FOLDER` prints what `assay diff` says of each pair.
The package and its library must be found (PYTHONPATH, ASSAY_LIB); each step is marked.
"""
import signal
import subprocess
import sys
import time
from pathlib import Path

STEPS = 300
# Variant, the one it is compared with, and what an expert expects of `assay diff`: the word and the cause.
EXPECTED = [
    ("plain_b", "plain_a", "no difference", None),
    ("plain_c", "plain_a", "no difference", None),
    ("starved", "plain_a", "slower", "input pipeline"),
    ("precise", "plain_a", "slower", "tensor"),
    ("power", "plain_a", "slower", "power limit"),
    ("small_graph", "small", "faster", "launches"),
]
VARIANTS = ["plain_a", "plain_b", "plain_c", "starved", "precise", "power", "small", "small_graph"]


def batches(torch, starved, shape):
    """Batches from a loader's worker; a starved one computes 50 ms for each."""
    class Items(torch.utils.data.IterableDataset):
        def __iter__(self):
            kept = torch.randn(shape)
            for _ in range(STEPS):
                end = time.perf_counter() + (0.05 if starved else 0.0)
                while time.perf_counter() < end:
                    sum(range(1000))
                yield kept

    return torch.utils.data.DataLoader(Items(), batch_size=None, num_workers=1, pin_memory=True)


def model(torch, small):
    nn = torch.nn
    width, depth = (256, 12) if small else (2048, 6)
    layers = [nn.TransformerEncoderLayer(width, 8, 4 * width, dropout=0.0, batch_first=True) for _ in range(depth)]
    return nn.Sequential(*layers).cuda(), (2, 32, width) if small else (8, 512, width)


def train(variant):
    import assay
    import torch
    small = variant.startswith("small")
    torch.backends.cuda.matmul.allow_tf32 = True
    net, shape = model(torch, small)
    optimizer = torch.optim.SGD(net.parameters(), lr=1e-4)
    x = torch.empty(shape, device="cuda")

    def compute():
        with torch.autocast("cuda", torch.bfloat16, enabled=variant != "precise"):
            loss = net(x).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=False)

    for _ in range(3):
        compute()
    work = compute
    if variant == "small_graph":
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            compute()
        work = graph.replay
    with assay.RunLog() as log:
        loader = iter(batches(torch, variant == "starved", shape))
        for _ in range(STEPS):
            with log.phase("step"):
                x.copy_(next(loader), non_blocking=True)
                work()
                torch.cuda.synchronize()
    print(variant, "done")


def limits():
    """The power limit now and the least, in W."""
    text = subprocess.run(["nvidia-smi", "--query-gpu=power.limit,power.min_limit", "--format=csv,noheader,nounits"],
                          stdout=subprocess.PIPE, check=True, text=True).stdout
    now, least = (float(v) for v in text.splitlines()[0].split(","))
    return now, least


def set_limit(watts):
    return subprocess.run(["nvidia-smi", "-pl", f"{watts:.0f}"], stdout=subprocess.DEVNULL).returncode == 0


def compare(program, folder):
    for new, base, word, cause in EXPECTED:
        sides = [Path(folder) / f"{base}.assay", Path(folder) / f"{new}.assay"]
        if all(side.exists() for side in sides):
            said = subprocess.run([program, "diff", *map(str, sides)], stdout=subprocess.PIPE, text=True)
            print(f"== {base} -> {new}: expected {word}, {cause}; exit {said.returncode}\n{said.stdout}", flush=True)


def record(program, folder, *chosen):
    # Also when it is ended from outside the limit must be put back.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    Path(folder).mkdir(parents=True, exist_ok=True)
    for variant in chosen or VARIANTS:
        before, least = limits()
        if variant == "power" and not set_limit(max(least, 0.6 * before)):
            print("power: the limit cannot be set here")
            continue
        try:
            subprocess.run([program, "run", "--quiet", "-o", str(Path(folder) / f"{variant}.assay"), "--",
                            sys.executable, __file__, variant], check=True, timeout=90)
        finally:
            if variant == "power" and not set_limit(before):
                print(f"power: the limit of {before:.0f} W was not put back")


if __name__ == "__main__":
    if sys.argv[1] == "record":
        record(*sys.argv[2:])
    elif sys.argv[1] == "compare":
        compare(*sys.argv[2:4])
    else:
        train(sys.argv[1])
