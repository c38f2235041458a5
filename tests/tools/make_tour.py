"""Makes data/h200-tour.csv from the raw trace of an H200: our columns, the trace's own times.

    make_tour.py TRACE.csv > data/h200-tour.csv
"""
import csv
import sys

MIB = 1048576


def pct(v):
    return f"{float(v):.2f}"


COLUMNS = {
    "timestamp": lambda r: f"{float(r['wall']):.2f}",
    "gpu_id": lambda r: "0",
    "model": lambda r: "NVIDIA H200",
    "sm_active_pct": lambda r: pct(r["sm"]),
    "tensor_active_pct": lambda r: pct(r["tensor"]),
    "dram_active_pct": lambda r: pct(r["dram"]),
    "gr_engine_active_pct": lambda r: pct(r["graphics"]),
    "gpu_util_pct": lambda r: pct(r["gpu_util"]),
    "mem_used_mib": lambda r: r["fb_used"],
    "mem_total_mib": lambda r: r["fb_total"],
    "mem_reserved_mib": lambda r: r["fb_reserved"],
    "power_w": lambda r: f"{int(r['power_mw']) / 1000:.1f}",
    "gpu_temp_c": lambda r: r["temp"],
    "mem_temp_c": lambda r: r["mem_temp"],
    "sm_occupancy_pct": lambda r: pct(r["occ"]),
    "fp16_pipe_pct": lambda r: pct(r["fp16"]),
    "fp32_pipe_pct": lambda r: pct(r["fp32"]),
    "fp64_pipe_pct": lambda r: pct(r["fp64"]),
    "int_pipe_pct": lambda r: pct(r["int"]),
    "memcpy_util_pct": lambda r: pct(r["mem_util"]),
    "pcie_rx_bytes_s": lambda r: f"{float(r['pcie_rx_mib']) * MIB:.0f}",
    "pcie_tx_bytes_s": lambda r: f"{float(r['pcie_tx_mib']) * MIB:.0f}",
    "nvlink_rx_bytes_s": lambda r: f"{float(r['nvl_rx_mib']) * MIB:.0f}",
    "nvlink_tx_bytes_s": lambda r: f"{float(r['nvl_tx_mib']) * MIB:.0f}",
    "sm_clock_mhz": lambda r: r["sm_clk"],
    "mem_clock_mhz": lambda r: r["mem_clk"],
    "energy_j": lambda r: f"{int(r['energy_mj']) / 1000:.1f}",
    "tc_hmma_pct": lambda r: pct(r["hmma"]),
    "tc_imma_pct": lambda r: pct(r["imma"]),
    "tc_dfma_pct": lambda r: pct(r["dfma"]),
    "throttle_reasons": lambda r: r["throttle"],
    "pcie_replay": lambda r: r["replay"],
}

writer = csv.writer(sys.stdout, lineterminator="\n")
writer.writerow(COLUMNS)
for row in csv.DictReader(open(sys.argv[1])):
    writer.writerow([f(row) for f in COLUMNS.values()])
