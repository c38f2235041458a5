"""The hardware-monitor module that sweeps use: three files, and a summary of them."""
from __future__ import annotations

import dataclasses
import json
import math
import os
import sys
from pathlib import Path
from typing import Any, Dict, NamedTuple, Optional

from . import show
from ._lib import encode, lib, object_of
from .monitor import Monitor
from .session import PathLike

MIB = 2.0**20


class HWFiles(NamedTuple):
    """The files of a hardware monitor; None for what could not be measured."""

    gpu_csv: Optional[Path]
    cpu_csv: Optional[Path]
    dmon_csv: Optional[Path]


# In the order of HWFiles.
NAMES = ("hw_metrics.csv", "cpu_metrics.csv", "hw_dmon.csv")


def _filled(path: Path) -> Optional[Path]:
    return path if path.exists() and path.stat().st_size > 0 else None


class HWMonitor:
    """Writes hw_metrics.csv, cpu_metrics.csv and hw_dmon.csv while it runs."""

    def __init__(self, **options: Any) -> None:
        self._options = options
        self._monitor: Optional[Monitor] = None
        self._folder: Optional[Path] = None

    def start(self, output_dir: PathLike, interval_sec: float = 2.0) -> None:
        """Starts monitoring and creates the folder if needed. Does nothing if it already runs."""
        if self._monitor:
            return
        folder = Path(os.path.abspath(output_dir))  # a program may change its folder
        folder.mkdir(parents=True, exist_ok=True)
        monitor = Monitor(interval_sec, levels="system", hardware_monitor=folder, **self._options)
        monitor.start()
        self._monitor, self._folder = monitor, folder

    def stop(self) -> HWFiles:
        """Ends: the paths of the three files, None for those that are not there."""
        if self._monitor:
            self._monitor.stop()
            self._monitor.close()
            self._monitor = None
        if self._folder is None:
            return HWFiles(None, None, None)
        return HWFiles(*(_filled(self._folder / name) for name in NAMES))

    def __enter__(self) -> "HWMonitor":
        return self

    def __exit__(self, *_: Any) -> None:
        self.stop()


@dataclasses.dataclass
class ResourceSummary:
    """What a run used. NaN is what was not measured: it formats, compares and is never taken for 0."""

    peak_vram_mb: float = math.nan
    gpu_util_mean_pct: float = math.nan
    gpu_util_max_pct: float = math.nan
    mem_util_mean_pct: float = math.nan
    mem_util_max_pct: float = math.nan
    power_watts_mean: float = math.nan
    power_watts_max: float = math.nan
    cpu_usr_mean_pct: float = math.nan
    cpu_idle_mean_pct: float = math.nan
    jax_peak_bytes_mb: float = math.nan

    def to_dict(self) -> Dict[str, Optional[float]]:
        """One decimal, None for what was not measured. The memory controller's keys are there when it was measured,
        JAX's when it is above 0."""
        values = {f.name: _tenths(getattr(self, f.name)) for f in dataclasses.fields(self)}
        if not values["jax_peak_bytes_mb"]:
            values["jax_peak_bytes_mb"] = None
        return {k: v for k, v in values.items() if v is not None or k not in WHEN_THERE}

    def to_json(self) -> str:
        return json.dumps(self.to_dict())

    def _repr_html_(self) -> str:
        return show.boxed(show.table(("figure", "value"), [(name, "--" if v is None else v) for name, v in self.to_dict().items()]))


# Keys that are left out, not null, when there is nothing to say.
WHEN_THERE = ("mem_util_mean_pct", "mem_util_max_pct", "jax_peak_bytes_mb")


def _tenths(value: Optional[float]) -> Optional[float]:
    return None if value is None or math.isnan(value) else round(value, 1)


def _there(path: Optional[PathLike]) -> Optional[bytes]:
    return encode(path) if path and os.path.exists(path) else None


def build_resource_summary(gpu_csv_path: Optional[PathLike] = None, cpu_csv_path: Optional[PathLike] = None,
                           dmon_csv_path: Optional[PathLike] = None,
                           jax_peak_bytes_mb: Optional[float] = None) -> ResourceSummary:
    """The summary of the three files. One that is None, not there, or without a usable row is left out."""
    files = [_there(p) for p in (gpu_csv_path, cpu_csv_path, dmon_csv_path)]
    found = object_of(lib().assay_resource_summary, *files) if any(files) else {}
    known = {f.name for f in dataclasses.fields(ResourceSummary)}
    summary = ResourceSummary(**{k: v for k, v in found.items() if k in known and v is not None})
    if jax_peak_bytes_mb is not None:
        summary.jax_peak_bytes_mb = jax_peak_bytes_mb
    return summary


def probe_jax_peak_memory_mb() -> float:
    """The most memory JAX had in use on one GPU of this process, MiB; 0.0 without JAX or GPU. A program that has
    not imported JAX uses none, so it is not imported here: that alone would take the GPU's memory."""
    jax = sys.modules.get("jax")
    if jax is None:
        return 0.0
    try:
        stats = [device.memory_stats() or {} for device in jax.local_devices() if device.platform != "cpu"]
    except Exception:  # Whatever a broken backend raises, a probe answers.
        return 0.0
    return max((float(s.get("peak_bytes_in_use", 0)) for s in stats), default=0.0) / MIB
