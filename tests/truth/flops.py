"""Counts its own FLOP/s, type by type, in marked phases that name the type.

`python3 flops.py --record ASSAY FOLDER` runs it under `assay run`; `python3 flops.py --compare ASSAY FOLDER` compares
what it counted with the intervals of `assay report`. More names after FOLDER choose some: `--record ASSAY FOLDER bf16 attention`.
"""
import json
import os
import pathlib
import subprocess
import sys
import time

from record import beside


def mark(*words):
    assay = os.environ["ASSAY"]
    subprocess.run([assay, "mark", "-q", *words], check=True, env=beside(assay))


def record(assay, folder, *names):
    out = pathlib.Path(folder).resolve()
    out.mkdir(parents=True, exist_ok=True)
    assay = str(pathlib.Path(assay).resolve())
    subprocess.run([assay, "run", "--poll", "0.1", "-o", str(out / "flops.assay"), "--", "env", "-u", "LD_LIBRARY_PATH", sys.executable,
                    os.path.abspath(__file__), str(out / "flops.json"), *names], check=True, env=dict(beside(assay), ASSAY=assay))


def products(torch):
    """What to run for each type: a function and the FLOP of one call."""
    n = 8192

    def pair(dtype, n=n):
        return [torch.randn(n, n, device="cuda").to(dtype) for _ in range(2)]

    def plain(dtype, n=n):
        a, b = pair(dtype, n)
        return lambda: a @ b, 2 * n**3

    def tf32():
        a, b = pair(torch.float32)

        def call():
            torch.backends.cuda.matmul.allow_tf32 = True
            a @ b
        return call, 2 * n**3

    def fp32():
        a, b = pair(torch.float32)

        def call():
            torch.backends.cuda.matmul.allow_tf32 = False
            a @ b
        return call, 2 * n**3

    def fp8():
        a, b = pair(torch.float8_e4m3fn)
        one = torch.ones((), device="cuda")
        return lambda: torch._scaled_mm(a, b.t(), one, one, out_dtype=torch.bfloat16), 2 * n**3

    def int8():
        a = torch.randint(-8, 8, (n, n), device="cuda", dtype=torch.int8)
        return lambda: torch._int_mm(a, a.t()), 2 * n**3

    def batched():
        a, b = (torch.randn(64, 2048, 2048, device="cuda", dtype=torch.bfloat16) for _ in range(2))
        return lambda: a @ b, 64 * 2 * 2048**3

    def attention():
        q, k, v = (torch.randn(8, 16, 4096, 128, device="cuda", dtype=torch.bfloat16) for _ in range(3))
        return lambda: torch.nn.functional.scaled_dot_product_attention(q, k, v), 8 * 16 * 4 * 4096**2 * 128

    def conv():
        x = torch.randn(64, 512, 56, 56, device="cuda", dtype=torch.bfloat16).to(memory_format=torch.channels_last)
        w = torch.randn(512, 512, 3, 3, device="cuda", dtype=torch.bfloat16).to(memory_format=torch.channels_last)
        return lambda: torch.nn.functional.conv2d(x, w, padding=1), 64 * 2 * 512 * 512 * 9 * 56**2

    def zeros():
        a = torch.zeros(n, n, device="cuda", dtype=torch.bfloat16)
        return lambda: a @ a, 2 * n**3

    return {"batched": batched, "attention": attention, "conv": conv, "zeros": zeros, "middle": lambda: plain(torch.bfloat16, 4096),
            "bf16": lambda: plain(torch.bfloat16), "fp16": lambda: plain(torch.float16), "tf32": tf32, "fp8": fp8,
            "int8": int8, "fp64": lambda: plain(torch.float64, 4096), "fp32": fp32}


OTHER = {"fp64": "fp64-tensor", **dict.fromkeys(("batched", "attention", "conv", "zeros", "middle"), "bf16")}


def count(out, *names, seconds=3):
    import torch
    counted = {}
    for name, make in products(torch).items():
        if names and name not in names:
            continue
        try:
            call, flop = make()
            call()
            torch.cuda.synchronize()
        except (RuntimeError, AttributeError, NotImplementedError) as error:
            print(f"{name}: {error}", file=sys.stderr)
            continue
        warm = time.time() + 1
        while time.time() < warm:
            call()
            torch.cuda.synchronize()
        mark("phase", name, "--begin", f"flops={OTHER.get(name, name)}")
        begin, calls = time.time(), 0
        while time.time() < begin + seconds:
            for _ in range(5):
                call()
            calls += 5
            torch.cuda.synchronize()
        took = time.time() - begin
        mark("phase", name, "--end")
        counted[name] = calls * flop / took
        print(f"{name}: {counted[name] / 1e12:.1f} TFLOP/s", file=sys.stderr)
        time.sleep(0.3)
    with open(out, "w", encoding="utf-8") as file:
        json.dump(counted, file)


def compare(assay, folder):
    """One line a type: counted, the interval, and whether it holds."""
    told = subprocess.run([assay, "report", f"{folder}/flops.assay", "--format", "json"], check=True, capture_output=True,
                          env=beside(assay)).stdout
    phases = {p["name"]: p for p in json.loads(told)["phases"]}
    with open(f"{folder}/flops.json", encoding="utf-8") as file:
        for name, flops in json.load(file).items():
            gpus = (phases.get(name) or {}).get("gpus")
            told = gpus[0]["flops"] if gpus else None
            if not told:
                print(f"{name}: {flops / 1e12:.1f} TFLOP/s counted, no interval")
                continue
            inside = told["lo"] <= flops <= told["hi"]
            print(f"{name}: {flops / 1e12:.1f} TFLOP/s counted, {told['lo'] / 1e12:.1f} to {told['hi'] / 1e12:.1f} by the counters: "
                  f"{'inside' if inside else 'OUTSIDE'} ({(told['hi'] / told['lo'] - 1) * 100:.1f} % wide)")


if __name__ == "__main__":
    if sys.argv[1] == "--compare":
        compare(*sys.argv[2:4])
    elif sys.argv[1] == "--record":
        record(*sys.argv[2:])
    else:
        count(*sys.argv[1:])
