"""The hardware-monitor module that sweeps use: three files, and a summary of them."""
from __future__ import annotations

import dataclasses
import os
import sys
from pathlib import Path
from typing import Any, Dict, NamedTuple, Optional

from ._lib import encode, json_of, lib
from .monitor import Monitor
from .session import PathLike

MIB = 2.0**20


class FileName(str):
    """The name of a file: a text, as JSON and logs want it, that also answers what a Path does."""

    def __getattr__(self, name: str) -> Any:
        return getattr(Path(self), name)

    def __truediv__(self, other: PathLike) -> Path:
        return Path(self) / other


class HWFiles(NamedTuple):
    """The files of a hardware monitor; None for what could not be measured."""

    gpu_csv: Optional[FileName]
    cpu_csv: Optional[FileName]
    dmon_csv: Optional[FileName]


# In the order of HWFiles.
NAMES = ("hw_metrics.csv", "cpu_metrics.csv", "hw_dmon.csv")


def _filled(path: Path) -> Optional[FileName]:
    return FileName(path) if path.exists() and path.stat().st_size > 0 else None


class HWMonitor:
    """Writes hw_metrics.csv, cpu_metrics.csv and hw_dmon.csv while it runs."""

    def __init__(self, **options: Any) -> None:
        self._options = options
        self._monitor: Optional[Monitor] = None
        self._folder: Optional[Path] = None

    def start(self, output_dir: PathLike, interval_sec: float = 1.0) -> None:
        """Starts; the folder is made when it is not there. Starting one that runs does nothing."""
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
    """What a run used. None is what was not measured."""

    peak_vram_mb: Optional[float] = None
    gpu_util_mean_pct: Optional[float] = None
    gpu_util_max_pct: Optional[float] = None
    mem_util_mean_pct: Optional[float] = None
    mem_util_max_pct: Optional[float] = None
    power_watts_mean: Optional[float] = None
    power_watts_max: Optional[float] = None
    cpu_usr_mean_pct: Optional[float] = None
    cpu_idle_mean_pct: Optional[float] = None
    jax_peak_bytes_mb: Optional[float] = None

    def to_dict(self) -> Dict[str, float]:
        """What was measured, one decimal; JAX's peak when it is above 0."""
        values = {k: round(v, 1) for k, v in dataclasses.asdict(self).items() if v is not None}
        if not values.get("jax_peak_bytes_mb"):
            values.pop("jax_peak_bytes_mb", None)
        return values


def _there(path: Optional[PathLike]) -> Optional[bytes]:
    return encode(path) if path and os.path.exists(path) else None


def build_resource_summary(gpu_csv: Optional[PathLike] = None, cpu_csv: Optional[PathLike] = None,
                           dmon_csv: Optional[PathLike] = None,
                           jax_peak_bytes_mb: Optional[float] = None) -> ResourceSummary:
    """The summary of the three files. One that is None or not there is left out."""
    files = [_there(p) for p in (gpu_csv, cpu_csv, dmon_csv)]
    found = json_of(lib().assay_resource_summary, *files) if any(files) else {}
    known = {f.name for f in dataclasses.fields(ResourceSummary)}
    summary = ResourceSummary(**{k: v for k, v in found.items() if k in known})
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
