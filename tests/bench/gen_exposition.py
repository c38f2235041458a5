"""Writes what dcgm-exporters of a whole cluster would: GPUs x 26 metrics with full label sets.

usage: gen_exposition.py [GPUS] [SCRAPES] >FILE        (4000 GPUs, 1 scrape)
"""
import random
import sys

RATIO = "{:.6f}".format
WHOLE = "{:.0f}".format
METRICS = [
    ("DCGM_FI_DEV_SM_CLOCK", "gauge", "SM clock frequency (in MHz).", WHOLE, 345, 1980),
    ("DCGM_FI_DEV_MEM_CLOCK", "gauge", "Memory clock frequency (in MHz).", WHOLE, 2619, 2619),
    ("DCGM_FI_DEV_MEMORY_TEMP", "gauge", "Memory temperature (in C).", WHOLE, 30, 95),
    ("DCGM_FI_DEV_GPU_TEMP", "gauge", "GPU temperature (in C).", WHOLE, 25, 85),
    ("DCGM_FI_DEV_POWER_USAGE", "gauge", "Power draw (in W).", RATIO, 70, 700),
    ("DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", "counter", "Total energy since boot (in mJ).", WHOLE, 1e9, 9e12),
    ("DCGM_FI_DEV_PCIE_REPLAY_COUNTER", "counter", "Total number of PCIe retries.", WHOLE, 0, 3),
    ("DCGM_FI_DEV_GPU_UTIL", "gauge", "GPU utilization (in %).", WHOLE, 0, 100),
    ("DCGM_FI_DEV_MEM_COPY_UTIL", "gauge", "Memory utilization (in %).", WHOLE, 0, 100),
    ("DCGM_FI_DEV_ENC_UTIL", "gauge", "Encoder utilization (in %).", WHOLE, 0, 0),
    ("DCGM_FI_DEV_DEC_UTIL", "gauge", "Decoder utilization (in %).", WHOLE, 0, 0),
    ("DCGM_FI_DEV_XID_ERRORS", "gauge", "Value of the last XID error encountered.", WHOLE, 0, 0),
    ("DCGM_FI_DEV_FB_FREE", "gauge", "Framebuffer memory free (in MiB).", WHOLE, 0, 81000),
    ("DCGM_FI_DEV_FB_USED", "gauge", "Framebuffer memory used (in MiB).", WHOLE, 0, 81000),
    ("DCGM_FI_DEV_FB_RESERVED", "gauge", "Framebuffer memory reserved (in MiB).", WHOLE, 500, 600),
    ("DCGM_FI_DEV_NVLINK_BANDWIDTH_TOTAL", "counter", "Total number of NVLink bandwidth counters.", WHOLE, 0, 900000),
    ("DCGM_FI_PROF_GR_ENGINE_ACTIVE", "gauge", "Ratio of time the graphics engine is active.", RATIO, 0, 1),
    ("DCGM_FI_PROF_SM_ACTIVE", "gauge", "Ratio of cycles an SM has a warp assigned.", RATIO, 0, 1),
    ("DCGM_FI_PROF_SM_OCCUPANCY", "gauge", "Ratio of warps resident on an SM.", RATIO, 0, 1),
    ("DCGM_FI_PROF_PIPE_TENSOR_ACTIVE", "gauge", "Ratio of cycles the tensor pipe is active.", RATIO, 0, 1),
    ("DCGM_FI_PROF_DRAM_ACTIVE", "gauge", "Ratio of cycles the memory interface is active.", RATIO, 0, 1),
    ("DCGM_FI_PROF_PIPE_FP64_ACTIVE", "gauge", "Ratio of cycles the fp64 pipes are active.", RATIO, 0, 1),
    ("DCGM_FI_PROF_PIPE_FP32_ACTIVE", "gauge", "Ratio of cycles the fp32 pipes are active.", RATIO, 0, 1),
    ("DCGM_FI_PROF_PIPE_FP16_ACTIVE", "gauge", "Ratio of cycles the fp16 pipes are active.", RATIO, 0, 1),
    ("DCGM_FI_PROF_PCIE_TX_BYTES", "gauge", "Bytes per second sent over PCIe.", WHOLE, 0, 5e10),
    ("DCGM_FI_PROF_PCIE_RX_BYTES", "gauge", "Bytes per second received over PCIe.", WHOLE, 0, 5e10),
]


def labels(i, rng):
    """The label block of GPU i, as dcgm-exporter writes it in a Kubernetes cluster."""
    uuid = "GPU-{:08x}-{:04x}-{:04x}-{:04x}-{:012x}".format(*(rng.getrandbits(b) for b in (32, 16, 16, 16, 48)))
    gpu, node = i % 8, i // 8
    return (f'{{gpu="{gpu}",UUID="{uuid}",pci_bus_id="00000000:{0x18 + 16 * gpu:02X}:00.0",device="nvidia{gpu}",'
            f'modelName="NVIDIA H100 80GB HBM3",Hostname="gpu-node-{node:04d}.cluster.example",'
            f'DCGM_FI_DRIVER_VERSION="550.54.15",container="trainer",namespace="ml-research",'
            f'pod="llm-pretrain-{node:04d}-worker-{gpu}",hpc_job="{480000 + node}"}}')


def main():
    gpus = int(sys.argv[1]) if len(sys.argv) > 1 else 4000
    scrapes = int(sys.argv[2]) if len(sys.argv) > 2 else 1
    rng = random.Random(7)
    blocks = [labels(i, rng) for i in range(gpus)]
    for _ in range(scrapes):
        for name, kind, text, show, low, high in METRICS:
            sys.stdout.write(f"# HELP {name} {text}\n# TYPE {name} {kind}\n")
            sys.stdout.writelines(f"{name}{b} {show(rng.uniform(low, high))}\n" for b in blocks)


if __name__ == "__main__":
    main()
