"""What a recorded run can be asked, live or from a file."""
from __future__ import annotations

import ctypes
import dataclasses
import json
import math
import os
import tempfile
from array import array
from pathlib import Path
from typing import TYPE_CHECKING, Any, Dict, Iterable, List, Literal, Mapping, NamedTuple, Optional, Sequence, Tuple, Union, overload

from . import findings as _findings
from . import show
from ._lib import Options, call, decode, encode, lib, object_of, text_of
from .errors import E_USAGE, AssayError
from .findings import Findings, Stretches
from .units import units_of

if TYPE_CHECKING:
    import pandas

Level = Literal["process", "user", "slurm", "cgroup", "system"]
Format = Literal["text", "json", "html", "csv", "markdown", "resource-summary", "scalars"]
Target = Literal["session", "csv", "jsonl", "parquet", "dmon", "notebook", "hardware-monitor"]
PathLike = Union[str, "os.PathLike[str]"]
Column = Union["array[float]", List[Any]]
Texts = Union[str, Iterable[Any], None]
LEVELS: Tuple[Level, ...] = ("process", "user", "slurm", "cgroup", "system")
GIB = 2.0**30


class Counts(NamedTuple):
    """Ticks so far."""

    asked: int
    taken: int
    late: int
    missed: int


@dataclasses.dataclass(frozen=True)
class Cell:
    """One execution of a notebook's cell; times are seconds since 1970."""

    index: int
    source: str
    start: float
    end: float

    @property
    def duration(self) -> float:
        return self.end - self.start


def _numbers(address: int, rows: int) -> "array[float]":
    values = array("d")
    values.frombytes(ctypes.string_at(address, rows * values.itemsize))
    return values


def _read_column(table: ctypes.c_void_p, column: int, rows: int) -> Column:
    address = lib().assay_table_numbers(table, column)
    if address:
        return _numbers(address, rows)
    return [decode(lib().assay_table_text(table, column, row)) for row in range(rows)]


def _read_table(path: bytes, what: str, options: Dict[str, Any]) -> Dict[str, Column]:
    table = ctypes.c_void_p()
    with Options(options) as handle:
        call(lib().assay_table_open, path, encode(what), handle, ctypes.byref(table))
    try:
        rows = lib().assay_table_rows(table)
        names = [decode(lib().assay_table_name(table, i)) or "" for i in range(lib().assay_table_columns(table))]
        return {name: _read_column(table, i, rows) for i, name in enumerate(names)}
    finally:
        lib().assay_table_free(table)


def frame_of(columns: Mapping[str, Sequence[Any]]) -> "pandas.DataFrame":
    """A pandas data frame that owns its columns."""
    try:
        import pandas
    except ImportError as error:
        raise AssayError(E_USAGE, f"a data frame needs pandas: {error}",
                         "install pandas, or use columns(), which needs nothing") from None
    import numpy
    return pandas.DataFrame({name: numpy.frombuffer(c) if isinstance(c, array) and len(c) else c
                             for name, c in columns.items()}).copy()


def _rows(columns: Dict[str, Column]) -> List[Dict[str, Any]]:
    return [dict(zip(columns, row)) for row in zip(*columns.values())]


def _last(columns: Dict[str, Column]) -> List[Dict[str, Any]]:
    """The rows of the last moment."""
    times = columns.get("time", [])
    first = len(times)
    while first > 0 and times[first - 1] == times[-1]:
        first -= 1
    return _rows({name: column[first:] for name, column in columns.items()})


def _cell(place: int, row: Dict[str, Any]) -> Cell:
    data = row["data"]
    return Cell(int(data.get("cell_index", place)), data.get("raw_cell", row["name"]), row["start_time"],
                row["end_time"])


class Recording:
    """A run: its data, phases, reports, plots and exports."""

    is_imported = False
    session_source: Optional[str] = None

    def _file(self) -> bytes:
        """The file with all that was measured so far."""
        raise NotImplementedError

    def describe(self) -> Dict[str, Any]:
        """All that is known of what is watched and of the run, SI units."""
        return object_of(lib().assay_file_describe, self._file())

    @property
    def start_time(self) -> float:
        """When the run began, and column `elapsed` is 0: seconds since 1970."""
        return float(object_of(lib().assay_file_describe, self._file())["start"] or 0.0)

    # What the machine has.

    @property
    def num_cpus(self) -> int:
        """CPUs that the watched process may use."""
        return int(self.describe()["num_cpus"] or 0)

    @property
    def num_gpus(self) -> int:
        return int(self.describe()["num_gpus"] or 0)

    @property
    def gpu_name(self) -> str:
        """The model; empty without GPUs."""
        return str(self.describe()["gpu_name"] or "")

    @property
    def gpu_memory(self) -> float:
        """Memory of one GPU, GiB; 0.0 without GPUs."""
        return float(self.describe()["gpu_memory"] or 0) / GIB

    @property
    def memory_limits(self) -> Dict[str, float]:
        """What each level may use at most, GiB."""
        return {level: limit / GIB for level, limit in self.describe()["memory_limits"].items() if limit is not None}

    @property
    def counts(self) -> Counts:
        """Ticks asked for, taken, late and missed."""
        ticks = self.describe()["ticks"]
        return Counts(*(int(ticks[name] or 0) for name in Counts._fields))

    @property
    def missed(self) -> int:
        """Ticks that were skipped."""
        return self.counts.missed

    # What was measured.

    def fields(self) -> List[str]:
        """The metrics that some GPU has a value of, at the last moment: names of 'assay metrics'. A monitor that has just started
        waits for its first one."""
        moment = self.latest() or {}
        named = [gpu.get("metrics", gpu) for gpu in moment.get("gpus", [])]
        units = units_of("gpus", [name for gpu in named for name in gpu])
        return sorted({name for gpu in named for name, v in gpu.items() if isinstance(v, (int, float)) and v == v and name in units and name not in ("time", "elapsed")})

    def latest(self) -> Optional[Dict[str, Any]]:
        """The last moment: time, gpus, levels; SI units."""
        raise NotImplementedError

    def columns(self, what: str = "gpus", *, phase: Optional[str] = None, last: Optional[float] = None, gpus: Texts = None,
                **options: Any) -> Dict[str, Column]:
        """Columns of "gpus" (a row a GPU and tick), of a level ("process", "user", "slurm", "cgroup", "system"; a row a
        tick), of "phases", "steps", "events", "user_metrics", "findings", "stretches" or "stacks" (a row a second, thread and line it was in): arrays of numbers (NaN is missing) or lists of texts. Names and
        units are those of the JSON: SI, ratios from 0 to 1, `time` in seconds since 1970. "notebook:process" and so on
        have the columns and units of a notebook session. Needs no pandas.

        phase: only these phases; last: only the newest so many seconds; gpus: only these GPUs."""
        if what in ("findings", "stretches"):
            found = self.findings(phase=phase, gpus=gpus, **options)
            return (found if what == "findings" else found.stretches).columns()
        return _read_table(self._file(), what, {"phase": phase, "last": last, "gpus": gpus, **options})

    def data(self, what: str = "gpus", *, phase: Optional[str] = None, last: Optional[float] = None, gpus: Texts = None,
             **options: Any) -> "pandas.DataFrame":
        """The same as a pandas data frame; its attrs["units"] tells the unit of each column."""
        columns = self.columns(what, phase=phase, last=last, gpus=gpus, **options)
        frame = frame_of(columns)
        frame.attrs["units"] = units_of(what, columns)
        return frame

    def phases(self) -> List[Dict[str, Any]]:
        """The phases, in the order they began; `data` is a dict."""
        rows = _rows(self.columns("phases"))
        for row in rows:
            row["data"] = json.loads(row.get("data") or "{}")
            row["open"] = bool(row.get("open"))
        return rows

    def cells(self) -> List[Cell]:
        """The cells of a notebook; in a run without any, its phases."""
        rows = self.phases()
        cells = [row for row in rows if "raw_cell" in row["data"]] or rows
        return [_cell(i, row) for i, row in enumerate(cells)]

    def _has_cells(self) -> bool:
        """Whether there are cells of a notebook."""
        return any("raw_cell" in row["data"] for row in self.phases())

    def findings(self, *, phase: Optional[str] = None, gpus: Texts = None, flops: Optional[str] = None, **options: Any) -> Findings:
        """What limited the GPUs, what matters most first: a list of Finding with text, advice and the numbers behind it.

        phase: only these phases; flops: the type of all work ("bf16"), where no mark declares it: for FLOP/s."""
        return _findings.read(self._file(), {"phase": phase, "gpus": gpus, "flops": flops, **options})

    def stretches(self, *, phase: Optional[str] = None, gpus: Texts = None, flops: Optional[str] = None, **options: Any) -> Stretches:
        """The run in stretches in which one thing limited the GPUs, in order of time; their FLOP/s where a type is declared."""
        return self.findings(phase=phase, gpus=gpus, flops=flops, **options).stretches

    def _told(self, level: Optional[Level], phase: Optional[str]) -> Dict[str, Any]:
        told = json.loads(self._report("json", {"level": level, "phase": phase}))
        return told if isinstance(told, dict) else {}

    # What is made of it.

    def report(self, format: Format = "text", *, level: Optional[Level] = None, phase: Optional[str] = None,
               gpus: Texts = None, **options: Any) -> "show.Report":
        """What happened, as a text that notebooks show well: text, json, html, csv, markdown, resource-summary, or scalars (figures by name, as log_to gives them).

        level: whose CPUs, memory and I/O are told; phase: only these phases. Further options are those of
        `assay report`: tag_cpu, tag_memory, tag_gpu, tag_gpu_memory, weights, missing."""
        return show.Report(self._report(format, {"level": level, "phase": phase, "gpus": gpus, **options}), format)

    def _report(self, format: str, options: Mapping[str, Any]) -> str:
        with Options(options) as handle:
            return text_of(lib().assay_file_report, self._file(), encode(format), handle)

    @overload
    def plot(self, path: None = None, *, metrics: Texts = None, phase: Optional[str] = None, last: Optional[float] = None,
             level: Optional[Level] = None, gpus: Texts = None, per_gpu: bool = False, title: Optional[str] = None,
             width: Optional[int] = None, height: Optional[int] = None, **options: Any) -> "show.Plot": ...

    @overload
    def plot(self, path: PathLike, *, metrics: Texts = None, phase: Optional[str] = None, last: Optional[float] = None,
             level: Optional[Level] = None, gpus: Texts = None, per_gpu: bool = False, title: Optional[str] = None,
             width: Optional[int] = None, height: Optional[int] = None, **options: Any) -> Path: ...

    def plot(self, path: Optional[PathLike] = None, *, metrics: Texts = None, phase: Optional[str] = None,
             last: Optional[float] = None, level: Optional[Level] = None, gpus: Texts = None, per_gpu: bool = False,
             title: Optional[str] = None, width: Optional[int] = None, height: Optional[int] = None,
             **options: Any) -> "Union[show.Plot, Path]":
        """Draws a chart into a file (.svg, .png, .pdf or .jpg); without a path, one that a notebook shows.

        metrics: names of 'assay metrics' and groups of them, one panel each; phase: only these phases; last: only the
        newest so many seconds; level: whose CPUs, memory and GPUs; per_gpu: a line each."""
        chosen = {"metrics": metrics, "phase": phase, "last": last, "level": level, "gpus": gpus, "per_gpu": per_gpu or None,
                  "title": title, "width": width, "height": height, **options}
        if path is not None:
            return self._draw(path, chosen)
        with tempfile.TemporaryDirectory(prefix="assay-plot-") as folder:
            return show.Plot(self._draw(Path(folder) / "plot.svg", chosen).read_text(encoding="utf-8"))

    def _draw(self, path: PathLike, options: Mapping[str, Any]) -> Path:
        with Options(options) as handle:
            call(lib().assay_file_plot, self._file(), encode(path), handle)
        return Path(path)

    def export(self, path: PathLike, *, to: Optional[Target] = None, **options: Any) -> Path:
        """Writes the run as what the name says: .assay, .csv, .jsonl, .parquet, .txt (dmon), .zip (a notebook session); or as `to`."""
        with Options({"to": to, **options}) as handle:
            call(lib().assay_file_convert, self._file(), encode(path), handle)
        return Path(path)

    save = export

    def _repr_html_(self) -> str:
        try:
            return show.recording(repr(self), self.describe(), self._told(None, None))
        except AssayError as error:
            return show.failure(repr(self), error)


class Session(Recording):
    """A recorded run: everything a Monitor answers, from a file."""

    running = False
    is_imported = True

    def __init__(self, path: PathLike) -> None:
        self.path = Path(path)
        self.session_source = str(path)
        self._absolute = os.path.abspath(path)
        self._described = object_of(lib().assay_file_describe, encode(path))

    def _file(self) -> bytes:
        return os.fsencode(self._absolute)

    def describe(self) -> Dict[str, Any]:
        return self._described

    @property
    def interval(self) -> float:
        """Seconds between its samples; NaN when the file does not say."""
        known = self._described.get("interval")
        return float(known) if isinstance(known, (int, float)) else math.nan

    def latest(self) -> Optional[Dict[str, Any]]:
        """The last moment of the run: time, gpus, levels; SI units."""
        gpus = _last(self.columns("gpus"))
        levels = {level: _last(self.columns(level)) for level in self._described["levels"]}
        known = {level: rows[0] for level, rows in levels.items() if rows}
        if not gpus and not known:
            return None
        return {"time": max(row["time"] for row in [*gpus, *known.values()]), "gpus": gpus, "levels": known}

    def start(self) -> "Session":
        """Does nothing: a recording does not run."""
        return self

    def stop(self) -> None:
        """Does nothing: a recording does not run."""

    close = stop

    def __enter__(self) -> "Session":
        return self

    def __exit__(self, *_: Any) -> None:
        self.stop()

    def __repr__(self) -> str:
        return f"<assay.Session {str(self.path)!r}>"


def open_session(path: PathLike) -> Session:
    """Opens a session, or any file or folder that the program reads."""
    return Session(path)
