"""A JAX program as sweeps run it: three files, one summary, and the peak that JAX itself saw.

    python3 jax_probe.py [SECONDS] [FOLDER]

Prints the summary as JSON; jax_peak_bytes_mb is there when JAX had a GPU.
"""
import json
import pathlib
import sys
import time

import jax
import jax.numpy as jnp

from assay import HWMonitor, build_resource_summary, probe_jax_peak_memory_mb


@jax.jit
def work(x):
    return jnp.tanh(x @ x.T) @ x


def main():
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 5.0
    folder = pathlib.Path(sys.argv[2] if len(sys.argv) > 2 else ".") / "hw"
    on_gpu = any(d.platform != "cpu" for d in jax.local_devices())
    monitor = HWMonitor()
    monitor.start(folder, interval_sec=0.2)
    x = jax.random.normal(jax.random.PRNGKey(0), (8192, 8192) if on_gpu else (256, 256), dtype=jnp.bfloat16)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        x = work(x).block_until_ready()
    gpu_csv, cpu_csv, dmon_csv = monitor.stop()
    summary = build_resource_summary(gpu_csv, cpu_csv, dmon_csv)
    summary.jax_peak_bytes_mb = probe_jax_peak_memory_mb()
    print(json.dumps(summary.to_dict(), indent=1))
    if on_gpu and not summary.jax_peak_bytes_mb:
        sys.exit("JAX has a GPU, but told of no memory on it")


if __name__ == "__main__":
    main()
