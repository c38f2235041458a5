"""What the notebook commands do; knows nothing of IPython."""
from __future__ import annotations

import csv
import dataclasses
import json
import math
import os
import time
from pathlib import Path
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence

from . import cells as _cells
from .errors import E_STOPPED, E_USAGE, AssayError
from .monitor import Monitor
from .runlog import RunLog
from .session import Cell, Recording, Session, open_session

# A mark in a session holds 32 KiB; longer cells are cut there, not in the history.
SOURCE_MAX = 24000


def _cut(source: str) -> str:
    """The source, short enough for a mark however its characters are written in JSON."""
    while len(json.dumps(source, ensure_ascii=False).encode("utf-8", "replace")) > SOURCE_MAX:
        source = source[: len(source) * 3 // 4]
    return source


def only_magics(source: str) -> bool:
    """Whether a cell does nothing but give commands, of which no report is wanted."""
    lines = [line.strip() for line in source.splitlines()]
    return all(not line or line.startswith(("%", "#", "!")) for line in lines) and not source.startswith("%%")


class Notebook:
    """The monitor of a notebook, or the session that was imported, and the cells that ran."""

    def __init__(self) -> None:
        self.recording: Optional[Recording] = None
        self.auto: Optional[Dict[str, Any]] = None
        self._cells: List[Cell] = []
        self._open: Optional[Cell] = None
        self._depth = 0
        self._log: Optional[RunLog] = None
        self._born = time.time()

    # Cells.

    def begin_cell(self, source: str) -> None:
        """Cells that a cell runs are part of it."""
        self._depth += 1
        if self._depth > 1:
            return
        self._open = Cell(len(self._cells), source, time.time(), math.nan)
        self._mark_begin()

    def end_cell(self) -> Optional[Cell]:
        """The cell that just ended; None when it began before we did, or runs inside another."""
        self._depth = max(self._depth - 1, 0)
        if self._depth > 0 or not self._open:
            return None
        cell, self._open = dataclasses.replace(self._open, end=time.time()), None
        self._cells.append(cell)
        self._mark_end(cell.index)
        return cell

    def _mark_begin(self) -> None:
        if self._open:
            index, source = self._open.index, _cut(self._open.source)
            self._mark(lambda log: log.begin(f"cell {index}", cell_index=index, raw_cell=source))

    def _mark_end(self, index: int) -> None:
        self._mark(lambda log: log.end(f"cell {index}"))

    def _mark(self, entry: Callable[[RunLog], None]) -> None:
        """Puts a cell into the session. A session that cannot be written to is complained about once."""
        if not self._log:
            return
        try:
            entry(self._log)
        except AssayError as error:
            self._close_log()
            raise AssayError(error.code, f"cells are no longer recorded: {error.message}", error.hint) from None

    def cells(self) -> List[Cell]:
        """The cells that ended: of this notebook, or of the session that was imported."""
        return self.recording.cells() if isinstance(self.recording, Session) else self._cells

    def history(self) -> Dict[str, List[Any]]:
        """The cells as the columns of cell_history.csv."""
        origin = self.recording.start_time if self.recording else self._born
        return _cells.history(self.cells(), origin)

    # The monitor.

    @property
    def monitor(self) -> Optional[Monitor]:
        return self.recording if isinstance(self.recording, Monitor) else None

    def start(self, interval: float = 1.0, **options: Any) -> bool:
        """Starts measuring; False when it does already."""
        if self.monitor and self.monitor.running:
            return False
        monitor = Monitor(interval, **options).start()
        self.drop()
        self.recording, self._log = monitor, RunLog(session=monitor)
        self._mark_begin()
        return True

    def stop(self) -> bool:
        """Ends measuring; False when nothing ran. What was measured can still be asked for."""
        if not (self.monitor and self.monitor.running):
            return False
        if self._open:
            self._mark_end(self._open.index)
        self._close_log()
        self.monitor.stop()
        return True

    def _close_log(self) -> None:
        if self._log:
            self._log.close()
        self._log = None

    def drop(self) -> None:
        """Lets go of the monitor or session."""
        self._close_log()
        if self.monitor:
            self.monitor.close()
        self.recording = None

    def attach(self, path: str) -> Session:
        """Looks at a recorded session from now on."""
        session = open_session(path)
        self.stop()
        self.drop()
        self.recording = session
        return session

    def _measured(self) -> Recording:
        if self.recording is None:
            raise AssayError(E_STOPPED, "nothing has been measured", "start with %assay start")
        return self.recording

    def resources(self) -> str:
        """What there is to use, in words; asks the machine when nothing is measured."""
        if self.recording is None:
            with Monitor(1.0) as monitor:
                monitor.wait(2)
                text = _resources(monitor)
            monitor.close()
            return text
        return _resources(self.recording)

    # What is made of it.

    def _chosen(self, where: Optional[str]) -> List[Cell]:
        cells = self.cells()
        if where:
            return _cells.choose(cells, where)
        # As monitors before us: the last cell that did something.
        busy = [c for c in cells if not only_magics(c.source)]
        if not (busy or cells):
            raise AssayError(E_USAGE, "no cell has ended yet", "run a cell first, then ask")
        return [(busy or cells)[-1]]

    def report(self, where: Optional[str] = None, level: str = "process") -> _cells.Report:
        """What the cells of a range used; of the last cell that did something when there is no range."""
        measured = self._measured()
        chosen = self._chosen(where)
        made = _cells.report(measured, chosen, level)
        if not made:
            raise AssayError(E_USAGE, f"there is no sample of {_name(chosen)}",
                             "it was shorter than the interval, or ran while nothing was measured; "
                             "%assay start 0.1 samples ten times a second")
        return made

    def auto_report(self, cell: Cell) -> Optional[_cells.Report]:
        """The report after a cell, if one is wanted and there is something to tell."""
        if self.auto is None or only_magics(cell.source) or not (self.monitor and self.monitor.running):
            return None
        return _cells.report(self.monitor, [cell], self.auto["level"])

    def plot(self, path: Any, where: Optional[str] = None, level: Optional[str] = None,
             metrics: Optional[str] = None, **options: Any) -> Path:
        """Draws the run, or the cells of a range, into a file."""
        measured = self._measured()
        phase = None
        if where:
            chosen = self._chosen(where)
            phase = _cells.phase_range(measured, chosen)
            if phase is None:
                raise AssayError(E_USAGE, f"{_name(chosen)} ran while nothing was measured", "choose others")
        # The command line of a kernel tells nobody anything.
        title = "notebook" if self.monitor else None
        return measured.plot(path, phase=phase, level=level, metrics=metrics, title=title, **options)

    def export_data(self, path: str, level: str = "process") -> Path:
        """Writes a level's columns: .json, else CSV."""
        return write_columns(path, self._measured().columns(level))

    def export_cells(self, path: str) -> Path:
        return write_columns(path, self.history())

    def export_session(self, path: Optional[str] = None) -> Path:
        """Writes the session: .zip or a folder as notebook monitors do, .assay and others by their name."""
        name = path or time.strftime("assay-session-%Y%m%d-%H%M%S.zip")
        options = {} if os.path.splitext(name)[1] in (".zip", ".assay", ".csv", ".jsonl") else {"to": "notebook"}
        return self._measured().export(name, **options)


def _name(cells: Sequence[Cell]) -> str:
    return f"cell {cells[0].index}" if len(cells) == 1 else f"cells {cells[0].index} to {cells[-1].index}"


def _resources(recording: Recording) -> str:
    known = recording.describe()
    handles = known.get("cpu_handles")
    lines = ["[assay]:", f"  CPUs: {recording.num_cpus}" + (f"\n    CPU affinity: {handles}" if handles else "")]
    limits = recording.memory_limits
    if "system" in limits:
        lines.append(f"  Memory: {limits['system']:.2f} GB")
    lines += [f"    {level} at most {limit:.2f} GB" for level, limit in limits.items()
              if level != "system" and limit < limits.get("system", math.inf)]
    lines.append(f"  GPUs: {recording.num_gpus}")
    if recording.num_gpus:
        lines.append(f"    {recording.gpu_name}, {recording.gpu_memory:.2f} GB")
    return "\n".join(lines)


def _plain(value: Any) -> Any:
    return None if isinstance(value, float) and math.isnan(value) else value


def write_columns(path: str, columns: Mapping[str, Sequence[Any]]) -> Path:
    """Columns as CSV, or as a JSON list of objects; what is missing is empty or null."""
    rows = [[_plain(v) for v in row] for row in zip(*columns.values())]
    with open(path, "w", newline="", encoding="utf-8") as file:
        if path.endswith(".json"):
            json.dump([dict(zip(columns, row)) for row in rows], file, indent=1)
        else:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(columns)
            writer.writerows(["" if v is None else v for v in row] for row in rows)
    return Path(path)
