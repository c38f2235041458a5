"""Whether assay slows a training: steps a second with and without it, in turns (needs PyTorch and a GPU).

    nvml_train.py ASSAY [ROUNDS [SECONDS]]
"""
import statistics
import subprocess
import sys
import time

import torch
from torch import nn

WIDTH = 2048


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.attention = nn.MultiheadAttention(WIDTH, 16, batch_first=True)
        self.mlp = nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH))

    def forward(self, x):
        y = self.norm1(x)
        x = x + self.attention(y, y, y, need_weights=False)[0]
        return x + self.mlp(self.norm2(x))


def make_step():
    model = nn.Sequential(*[Block() for _ in range(12)]).to("cuda", torch.bfloat16)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    batch = torch.randn(16, 1024, WIDTH).pin_memory()

    def step():
        x = batch.to("cuda", torch.bfloat16, non_blocking=True)
        optimizer.zero_grad(set_to_none=True)
        model(x).float().pow(2).mean().backward()
        optimizer.step()

    return step


def rate(step, seconds):
    torch.cuda.synchronize()
    start, n = time.time(), 0
    while time.time() - start < seconds:
        step()
        torch.cuda.synchronize()
        n += 1
    return n / (time.time() - start)


def main():
    assay = sys.argv[1]
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 5
    seconds = float(sys.argv[3]) if len(sys.argv) > 3 else 8
    step = make_step()
    rate(step, 5)
    found = {False: [], True: []}
    for i in range(2 * rounds):
        beside = i % 4 in (1, 2)  # without, with, with, without: warming up favours neither
        watcher = beside and subprocess.Popen([assay, "export", "full", "--poll", "0.1"], stdout=subprocess.DEVNULL)
        time.sleep(0.5)
        found[beside].append(rate(step, seconds))
        if watcher:
            watcher.terminate()
            watcher.wait()
    for beside, values in found.items():
        print(f"  {'with' if beside else 'without'} assay: {' '.join(f'{v:.4f}' for v in values)} steps/s, "
              f"mean {statistics.fmean(values):.4f}, spread {max(values) - min(values):.4f}")
    change = statistics.fmean(found[True]) - statistics.fmean(found[False])
    print(f"  difference of the means {change:+.4f} steps/s, {change / statistics.fmean(found[False]):+.3%}")


if __name__ == "__main__":
    main()
