"""assay: what the GPUs, and the job around them, are really doing.

    with assay.Monitor(interval=0.5) as monitor:
        train()
    print(monitor.report())

In a notebook: %load_ext assay, then %assay help.
"""
from __future__ import annotations

from typing import Any

from ._lib import lib_version
from .compare import Diff, diff
from .errors import E_DATA, E_FORKED, E_NO_SOURCE, E_STOPPED, E_USAGE, AssayError
from .findings import Finding, Findings, Flops, Stretch, Stretches
from .hwmonitor import HWFiles, HWMonitor, ResourceSummary, build_resource_summary, probe_jax_peak_memory_mb
from .monitor import Monitor
from .runlog import RunLog
from .session import LEVELS, Cell, Counts, Recording, Session, open_session
from .show import Plot, Report

__version__ = "0.2.0"

__all__ = [
    "AssayError", "Cell", "Counts", "Diff", "E_DATA", "E_FORKED", "E_NO_SOURCE", "E_STOPPED", "E_USAGE", "Finding", "Findings", "Flops", "HWFiles", "HWMonitor",
    "LEVELS", "Monitor", "Plot", "Recording", "Report", "ResourceSummary", "RunLog", "Session", "Stretch", "Stretches", "build_resource_summary", "diff",
    "lib_version", "open_session", "probe_jax_peak_memory_mb",
]


def load_ipython_extension(shell: Any) -> None:
    """%load_ext assay"""
    from .magics import load
    load(shell)


def unload_ipython_extension(shell: Any) -> None:
    """%unload_ext assay"""
    from .magics import unload
    unload(shell)
