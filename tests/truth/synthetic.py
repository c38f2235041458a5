"""Sessions of made-up numbers, for limiters that no recording shows: `python3 synthetic.py ASSAY NAME OUT.assay`.

Each is ten seconds at 10 Hz, as a program with that limit looks to the counters; host.network is the recording of a program that
reads from a socket, with traffic of a network card made up. docs/LIMITS.md quotes what is said of them.
"""
import pathlib
import shutil
import sqlite3
import subprocess
import sys
import tempfile

# Percent of the GPU, W, MHz, B/s; what is not named is 0. Two GPUs where "gpus" says so.
BUSY = {"gpu_util_pct": 100, "gr_engine_active_pct": 100, "sm_active_pct": 98, "sm_occupancy_pct": 60, "power_w": 420, "mem_used_mib": 20000}
SHAPES = {
    "collective": {**BUSY, "gpus": 2, "sm_active_pct": 97, "sm_occupancy_pct": 6, "dram_active_pct": 8, "fp32_pipe_pct": 2,
                   "nvlink_rx_bytes_s": 180e9, "nvlink_tx_bytes_s": 180e9, "power_w": 240},
    "codec": {"gpu_util_pct": 21, "gr_engine_active_pct": 18, "sm_active_pct": 15, "sm_occupancy_pct": 8, "fp32_pipe_pct": 3, "dram_active_pct": 4,
              "dec_util_pct": 96, "power_w": 150, "mem_used_mib": 9000},
    "compute.fp16": {**BUSY, "fp16_pipe_pct": 84, "dram_active_pct": 9},
}
COLUMNS = ("gpu_util_pct", "gr_engine_active_pct", "sm_active_pct", "sm_occupancy_pct", "tensor_active_pct", "dram_active_pct", "fp16_pipe_pct",
           "fp32_pipe_pct", "fp64_pipe_pct", "int_pipe_pct", "pcie_rx_bytes_s", "pcie_tx_bytes_s", "nvlink_rx_bytes_s", "nvlink_tx_bytes_s",
           "mem_used_mib", "enc_util_pct", "dec_util_pct", "power_w", "sm_clock_mhz", "throttle_reasons")
TICKS = 100


def capture(shape):
    """Rows as `assay export full` writes them."""
    rows = [",".join(("timestamp", "gpu_id", "model", "mem_total_mib", "power_limit_w", "sm_clock_max_mhz", *COLUMNS))]
    for tick in range(TICKS):
        for gpu in range(shape.get("gpus", 1)):
            values = {"sm_clock_mhz": 1980, **shape}
            rows.append(",".join(str(v) for v in (f"{1767225600 + tick / 10:.2f}", gpu, "NVIDIA H200", 143771, 700, 1980,
                                                  *(values.get(c, 0) for c in COLUMNS))))
    return "\n".join(rows) + "\n"


def add_traffic(path, rate):
    """The same bytes a second over the network at every tick."""
    db = sqlite3.connect(path)
    db.execute("update host_block set width = 0, base = ?, data = NULL where series in "
               "(select id from host_series where scope = 'evidence' and name = 'net_rx')", (int(rate / 256),))
    db.commit()
    db.close()


def make(assay, name, out):
    if name == "host.network":
        shutil.copy(pathlib.Path(__file__).with_name("network_feed.assay"), out)
        add_traffic(out, 310e6)
        return
    shape = SHAPES[name]
    with tempfile.TemporaryDirectory() as folder:
        csv = pathlib.Path(folder) / "capture.csv"
        csv.write_text(capture(shape), encoding="utf-8")
        subprocess.run([assay, "convert", str(csv), str(out)], check=True, capture_output=True)


if __name__ == "__main__":
    make(sys.argv[1], sys.argv[2], sys.argv[3])
