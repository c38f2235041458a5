"""Compares what assay exported with what the workloads of the tour measured themselves.

    accuracy.py PHASES.jsonl EXPORT.csv     the tour's output, and `assay export full` of the same time
"""
import csv
import json
import statistics
import sys

HBM_TBPS = 4.8
SMS = 132
FP32_PER_CYCLE = 2 * 128         # FLOP a cycle and SM: an FMA on each of 128 lanes
TENSOR_FP64_PER_CYCLE = 2 * 128  # FLOP a cycle and SM of the FP64 tensor pipe on Hopper
EDGE_S = 0.7                     # left out at each end of a phase: the workload starts and stops there


def phases(path):
    rows = [json.loads(x) for x in open(path) if x.startswith("{")]
    for here, after in zip(rows, rows[1:]):
        if here["phase"] != "done":
            yield here["phase"], here["ts"], after["ts"], after if after["phase"] == "done" else {}


def number(row, name):
    return float(row[name]) if row[name] else None


def mean(rows, name):
    values = [number(r, name) for r in rows if row_has(r, name)]
    return statistics.fmean(values) if values else float("nan")


def row_has(row, name):
    return row[name] != ""


def derived(name, rows, done):
    """(what, from assay, measured, bound in percent) for the phases that have a yardstick."""
    hertz = mean(rows, "sm_clock_mhz") * 1e6
    if name == "hbm_copy":
        return "dram_active x 4.8 TB/s", mean(rows, "dram_active_pct") / 100 * HBM_TBPS, done["tbps"], 3
    if name == "h2d_copy":
        return "pcie_rx, GB/s", mean(rows, "pcie_rx_bytes_s") / 1e9, done["gbps"], 10
    if name == "fp32_matmul":
        rate = mean(rows, "fp32_pipe_pct") / 100 * SMS * FP32_PER_CYCLE * hertz / 1e12
        return "fp32 pipe, TFLOP/s", rate, done["tflops"], 5
    if name == "fp64_matmul":
        rate = mean(rows, "tc_dfma_pct") / 100 * SMS * TENSOR_FP64_PER_CYCLE * hertz / 1e12
        return "FP64 tensor pipe, TFLOP/s", rate, done["tflops"], 5
    return None


def main():
    rows = list(csv.DictReader(open(sys.argv[2])))
    checks = []
    print("| phase | samples | gpu_util | sm | tensor | dram | fp64 | fp32 | PCIe rx GB/s | SM MHz | class |")
    print("|---|---|---|---|---|---|---|---|---|---|---|")
    for name, start, end, done in phases(sys.argv[1]):
        mine = [r for r in rows if start + EDGE_S <= float(r["timestamp"]) <= end - EDGE_S / 2]
        if not mine:
            continue
        classes = [r["status"] for r in mine]
        common = max(set(classes), key=classes.count)
        share = classes.count(common) / len(classes)
        cells = [f"{mean(mine, c):.1f}" for c in ("gpu_util_pct", "sm_active_pct", "tensor_active_pct", "dram_active_pct",
                                                  "fp64_pipe_pct", "fp32_pipe_pct")]
        print(f"| {name} | {len(mine)} | {' | '.join(cells)} | {mean(mine, 'pcie_rx_bytes_s') / 1e9:.2f} | "
              f"{mean(mine, 'sm_clock_mhz'):.0f} | {common} ({share:.0%}) |")
        check = derived(name, mine, done)
        if check:
            checks.append((name, *check))
    print("\n| phase | what | from assay | measured by the workload | difference | bound |\n|---|---|---|---|---|---|")
    for name, what, ours, theirs, bound in checks:
        print(f"| {name} | {what} | {ours:.3f} | {theirs:.3f} | {(ours / theirs - 1):+.1%} | {bound} % |")
    empty = sum(1 for r in rows if not r["sm_active_pct"])
    print(f"\n{len(rows)} rows, {empty} without counters")


if __name__ == "__main__":
    main()
