"""assay: what the GPUs, and the job around them, are really doing.

    with assay.Monitor(interval=0.5) as monitor:
        train()
    print(monitor.report())

In a notebook: %load_ext assay, then %assay help.
"""
from __future__ import annotations

import sys
from typing import Any, List, Optional

from ._lib import lib_version
from . import integrations
from .compare import Diff, diff
from .errors import (E_DATA, E_FORKED, E_NO_SOURCE, E_STOPPED, E_USAGE, AssayDataError, AssayError, AssayFileExistsError, AssayFileNotFoundError,
                     AssayPermissionError, AssaySourceError, AssayStateError, AssayTimeoutError, AssayValueError)
from .findings import Finding, Findings, Flops, Place, Stretch, Stretches
from .hwmonitor import HWFiles, HWMonitor, ResourceSummary, build_resource_summary, probe_jax_peak_memory_mb
from .monitor import Monitor, running_monitor
from .protocol import MonitorProtocol, UnavailableMonitor
from .runlog import RunLog
from .session import LEVELS, Cell, Counts, Recording, Session, open_session
from .show import Plot, Report
from .trackers import Tracker, log_to
from .marking import metric, phase, step, step_end, steps

__version__ = "0.2.0"

__all__ = [
    "AssayDataError", "AssayError", "AssayFileExistsError", "AssayFileNotFoundError", "AssayPermissionError", "AssaySourceError", "AssayStateError",
    "AssayTimeoutError", "AssayValueError", "Cell", "Counts", "Diff", "E_DATA", "E_FORKED", "E_NO_SOURCE", "E_STOPPED", "E_USAGE", "Finding",
    "Findings", "Flops", "HWFiles", "HWMonitor", "LEVELS", "Monitor", "MonitorProtocol", "Place", "Plot", "Recording", "Report", "ResourceSummary",
    "RunLog", "Session", "Stretch", "Stretches", "Tracker", "UnavailableMonitor", "build_resource_summary", "columns", "data", "diff", "integrations", "lib_version", "log_to",
    "metric", "open_session", "phase", "probe_jax_peak_memory_mb", "step", "step_end", "steps",
]


def __dir__() -> List[str]:
    """The public names alone."""
    return sorted(__all__)


def data(what: str = "gpus", **options: Any) -> Any:
    """A data frame of what this notebook, or the monitor that runs in this process, has measured: as Recording.data."""
    return _recording().data(what, **options)


def columns(what: str = "gpus", **options: Any) -> Any:
    """The same without pandas, as columns: as Recording.columns."""
    return _recording().columns(what, **options)


def _recording() -> Recording:
    magics = sys.modules.get("assay.magics")
    found: Optional[Recording] = magics.newest_recording() if magics else None
    found = found or running_monitor()
    if found is None:
        raise AssayError(E_STOPPED, "nothing has been measured", "start with %assay start, or with assay.Monitor()")
    return found


def load_ipython_extension(shell: Any) -> None:
    """%load_ext assay"""
    from .magics import load
    load(shell)


def unload_ipython_extension(shell: Any) -> None:
    """%unload_ext assay"""
    from .magics import unload
    unload(shell)
