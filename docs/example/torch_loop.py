"""A small PyTorch training loop that tells what its phases did to the GPU.

    python3 torch_loop.py [SECONDS] [FOLDER]

Leaves torch_loop.assay, .jsonl, .svg in the folder and prints the report. Without a GPU it runs on the CPU.
"""
import pathlib
import sys
import time

import torch

import assay


def make(device):
    wide = 4096 if device == "cuda" else 256
    model = torch.nn.Sequential(torch.nn.Linear(wide, wide), torch.nn.GELU(), torch.nn.Linear(wide, wide)).to(device)
    return model, torch.optim.SGD(model.parameters(), lr=0.01), wide


def step(model, optimizer, batch):
    with torch.autocast(batch.device.type, dtype=torch.bfloat16):
        loss = model(batch).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.item()


def train(device, seconds, log):
    model, optimizer, wide = make(device)
    batch = torch.randn(2048 if device == "cuda" else 64, wide, device=device)
    with log.phase("warmup"):
        for _ in range(5):
            step(model, optimizer, batch)
    for name, pause in (("train", 0.0), ("train_starved", 0.05)):
        with log.phase(name) as facts:
            end, steps, loss = time.monotonic() + seconds, 0, 0.0
            while time.monotonic() < end:
                time.sleep(pause)  # a data loader that cannot keep up
                loss = step(model, optimizer, batch)
                steps += 1
            facts.update(steps=steps, loss=loss)
        log.log_metric("loss", loss)


def main():
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 5.0
    folder = pathlib.Path(sys.argv[2] if len(sys.argv) > 2 else ".")
    device = "cuda" if torch.cuda.is_available() else "cpu"
    with assay.Monitor(interval=0.1, session=folder / "torch_loop.assay") as monitor:
        with assay.RunLog(folder / "torch_loop.jsonl", session=monitor) as log:
            log.log_event("start", {"device": device, "torch": torch.__version__})
            train(device, seconds, log)
    print(monitor.report())
    print(f"missed ticks: {monitor.missed} of {monitor.counts.asked}")
    for phase in monitor.phases():
        print(f"{phase['name']:<14} {phase['seconds']:.1f} s")
    try:
        print("chart:", monitor.plot(folder / "torch_loop.svg"))
    except assay.AssayError as error:
        print("no chart:", error)


if __name__ == "__main__":
    main()
