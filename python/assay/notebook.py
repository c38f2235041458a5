"""What the notebook commands do; knows nothing of IPython."""
from __future__ import annotations

import csv
import dataclasses
import json
import math
import os
import re
import time
from pathlib import Path
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Tuple, Union

from . import cells as _cells
from . import script as _script
from . import show
from .errors import E_STOPPED, E_USAGE, AssayError
from .monitor import Monitor
from .runlog import RunLog
from .session import Cell, Level, PathLike, Recording, Session, Target, frame_of, open_session

# What a session can be written as, by the ending of the name.
SESSIONS = (".assay", ".csv", ".jsonl", ".parquet", ".txt", ".zip")
# A mark in a session holds 32 KiB; longer cells are cut there, not in the history.
SOURCE_MAX = 24000
# Charts of the page by the keys that notebooks have used before; the page's own names are those of the metrics.
CHARTS = {"cpu_summary": "cpu", "cpu": "cpu", "memory": "memory", "mem": "memory", "io": "io", "io_read": "io", "io_write": "io", "gpu_util_summary": "gpu_util",
          "gpu_util": "gpu_util", "gpu_mem_summary": "fb_used", "gpu_mem": "fb_used"}
METRIC_CHARTS = ("real_util", "sm_active", "tensor_active", "dram_active", "fb_used", "power", "sm_clock", "gpu_temp", "pcie_rx", "pcie_tx", "nvlink_total")
SAMPLE_WAIT = 2.0  # seconds at most until a sample after a cell


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
        self._open_file = ""
        self._depth = 0
        self._script: Optional[Tuple[str, int]] = None
        self._log: Optional[RunLog] = None
        self._born = time.time()

    # Cells.

    def begin_cell(self, source: str, number: int = 0, file: str = "") -> None:
        """A cell, its number in the notebook, In [5], and the file name that its code has. Cells that a cell runs are part of it."""
        self._depth += 1
        if self._depth > 1:
            return
        # A cell that leaves no history has the number of the next one.
        least = self._cells[-1].index + 1 if self._cells else 0
        self._open = Cell(max(number, least), source, time.time(), math.nan)
        self._open_file = file
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
            named = {"cell_file": self._open_file} if self._open_file else {}
            self._mark(lambda log: log.begin(f"cell {index}", cell_index=index, **named, raw_cell=source))

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
        # The column of memory is USS for notebook monitors, so that is measured here.
        options.setdefault("pss", True)
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
        last = (self._busy() or cells)[-1:]
        if not last:
            raise AssayError(E_USAGE, "no cell has ended yet", "run a cell first, then ask")
        return list(last)

    def _busy(self) -> List[Cell]:
        return [c for c in self.cells() if not only_magics(c.source)]

    def report(self, where: Optional[str] = None, level: Optional[Level] = None) -> "Union[_cells.Report, show.Report]":
        """What the cells of a range used, estimated where they were too short to be measured; without one, of the last cell that did
        something and was long enough. The report of the run, where a recording was imported that has no cells.

        level: "process" unless another is named, for a run the first that was recorded."""
        measured = self._measured()
        if not where and isinstance(measured, Session) and not measured._has_cells():
            return measured.report(level=level)
        chosen, level = self._chosen(where), level or "process"
        made = _cells.report(measured, chosen, level)
        if not made and not where:
            longer = _cells.newest_measured(measured, self._busy(), level)
            made = _cells.report(measured, [longer], level) if longer else None
        made = made or _cells.report_between(measured, chosen, level)
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

    def report_ended(self, cell: Cell, level: Level) -> "Union[_cells.Report, show.Report]":
        """Of a cell that has just ended; one that was shorter than the interval is estimated as soon as there is a sample after it."""
        try:
            return self.report(str(cell.index), level)
        except AssayError:
            time.sleep(min(2 * self.monitor.interval, SAMPLE_WAIT) if self.monitor else 0)
            return self.report(str(cell.index), level)

    def _phase(self, where: Optional[str]) -> Optional[str]:
        """The cells of a range as phases; None for the whole run."""
        if not where:
            return None
        chosen = self._chosen(where)
        phase = _cells.phase_range(self._measured(), chosen)
        if phase is None:
            raise AssayError(E_USAGE, f"{_name(chosen)} ran while nothing was measured", "choose others")
        return phase

    def charts(self, where: Optional[str] = None, level: Optional[Level] = None, metrics: Optional[str] = None) -> Optional[show.Report]:
        """The charts of a report's page, which zoom and have the numbers under the pointer; None where it has none of these metrics."""
        ids = [CHARTS.get(name, name) for name in (metrics or "all").split(",")]
        if not set(ids) <= {"all", *CHARTS.values(), *METRIC_CHARTS}:
            return None
        return self._measured().report("html", phase=self._phase(where), level=level, charts=",".join(ids))

    def plot(self, path: PathLike, where: Optional[str] = None, level: Optional[Level] = None,
             metrics: Optional[str] = None, **options: Any) -> Path:
        """Draws the run, or the cells of a range, into a file."""
        measured = self._measured()
        phase = self._phase(where)
        # The command line of a kernel tells nobody anything.
        title = "notebook" if self.monitor else None
        return measured.plot(path, phase=phase, level=level, metrics=metrics, title=title, **options)

    def table(self, level: Optional[Level] = None, notebook: bool = False) -> str:
        """Which table is meant: a notebook session's level, ours, or the GPUs where there are some."""
        if notebook:
            return f"notebook:{level or 'process'}"
        return level or ("gpus" if self._measured().num_gpus else "process")

    def export_data(self, path: str, table: str) -> Path:
        """Writes a table's columns: .json, else CSV."""
        return write_columns(path, self._measured().columns(table))

    def export_cells(self, path: str) -> Path:
        return write_columns(path, self.history())

    def export_session(self, path: Optional[str] = None) -> Path:
        """Writes the session: .zip or a folder as notebook monitors do, .assay and others by their name."""
        name = path or time.strftime("assay-session-%Y%m%d-%H%M%S.zip")
        ending = _ending(name)
        if ending and ending not in SESSIONS:
            raise AssayError(E_USAGE, f"a session cannot be written as '{ending}'",
                             f"end the name in {', '.join(SESSIONS[:-1])} or {SESSIONS[-1]}; without an ending it is a folder")
        to: Optional[Target] = None if ending else "notebook"
        return self._measured().export(name, to=to)

    # Cells as a program.

    def start_script(self, path: Optional[str] = None) -> str:
        """The cells that follow are to be written to a file; its name."""
        if self._script:
            raise AssayError(E_USAGE, f"cells are already kept for '{self._script[0]}'", "end with %end_write_script")
        first = self._open.index + 1 if self._open else 0
        self._script = path or _script.default_name(), first
        return self._script[0]

    def kept_for(self, source: str) -> Optional[str]:
        """The file that a cell is kept for and does not run; None for one that runs, as the one does that ends the script."""
        return self._script[0] if self._script and not re.search(r"^\s*%(end_write_script|assay\s+script\s+end)\b", source, re.M) else None

    def end_script(self) -> Path:
        """Writes them."""
        if not self._script:
            raise AssayError(E_USAGE, "no script was started", "start with %start_write_script FILE")
        (name, first), self._script = self._script, None
        chosen = [c for c in self._cells if c.index >= first and not _only_script(c.source)]
        if not chosen:
            raise AssayError(E_USAGE, "no cell has come since the script was started", "start again with %start_write_script")
        target = Path(name)
        target.parent.mkdir(parents=True, exist_ok=True)
        interval = self.monitor.interval if self.monitor else 1.0
        target.write_text(_script.text_of(chosen, interval, str(target.with_suffix(".assay"))), encoding="utf-8")
        return target


def _only_script(source: str) -> bool:
    return bool(re.match(r"\s*%(start_write_script|end_write_script|assay\s+script)\b", source))


def _ending(name: str) -> str:
    """The ending that says what to write; empty for a folder, and for what is no word: run-1.5."""
    ending = os.path.splitext(name)[1].lower()
    return ending if ending[1:2].isalpha() else ""


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
    """Columns as CSV, as a JSON list of objects, or as Parquet; what is missing is empty or null."""
    ending = _ending(path)
    if ending not in ("", ".csv", ".txt", ".json", ".parquet"):
        raise AssayError(E_USAGE, f"a table cannot be written as '{ending}'", "end the name in .csv, .json or .parquet")
    if ending == ".parquet":
        _write_parquet(path, columns)
        return Path(path)
    rows = [[_plain(v) for v in row] for row in zip(*columns.values())]
    with open(path, "w", newline="", encoding="utf-8") as file:
        if ending == ".json":
            json.dump([dict(zip(columns, row)) for row in rows], file, indent=1)
        else:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(columns)
            writer.writerows(["" if v is None else v for v in row] for row in rows)
    return Path(path)


def _write_parquet(path: str, columns: Mapping[str, Sequence[Any]]) -> None:
    """Through pandas, which needs pyarrow or fastparquet for it."""
    try:
        frame_of(columns).to_parquet(path)
    except ImportError:
        raise AssayError(E_USAGE, f"cannot write '{path}': Parquet needs pyarrow or fastparquet",
                         "install one of them, or end the name in .csv or .json") from None
