"""The cells of a notebook: their history, ranges of them, and what they used."""
from __future__ import annotations

import html
import math
import re
from collections import Counter
from typing import Any, Dict, Iterable, List, NamedTuple, Optional, Sequence, Set, Tuple

from .errors import E_USAGE, AssayError
from .session import Cell, Column, Level, Recording
from .show import boxed, findings_of, table

HISTORY = ("cell_index", "raw_cell", "start_time", "end_time", "duration", "wallclock_start_time",
           "wallclock_end_time")
# Of a report: title, column, where TOTAL comes from.
FIGURES = (("CPU Util (Across {cpus} CPUs)", "cpu_util_avg", None), ("Memory (GB)", "memory", "limit"),
           ("GPU Util (Across {gpus} GPUs)", "gpu_util_avg", None), ("GPU Memory (GB)", "gpu_mem_avg", "gpu"))


def choose(cells: Sequence[Cell], text: str) -> List[Cell]:
    """The cells of a range: 5, 2:8 (both included), :5, 3:, and negative ones from the end."""
    match = re.fullmatch(r"(-?\d+)|(-?\d+)?:(-?\d+)?", text.strip())
    if not match:
        raise AssayError(E_USAGE, f"'{text}' is no range of cells", "write 5, 2:8, :5, 3:, -1 or -3:-1")
    first, last = (match[1], match[1]) if match[1] else (match[2], match[3])
    low = _index(cells, first) if first else -1
    high = _index(cells, last) if last else math.inf
    chosen = [c for c in cells if low <= c.index <= high]
    if not chosen:
        there = f"there are {len(cells)}, from {cells[0].index} to {cells[-1].index}" if cells else "there is none yet"
        raise AssayError(E_USAGE, f"no cell is in '{text}'", there)
    return chosen


def _index(cells: Sequence[Cell], text: str) -> int:
    number = int(text)
    if number >= 0:
        return number
    return cells[number].index if -number <= len(cells) else -1


def history(cells: Iterable[Cell], origin: float) -> Dict[str, List[Any]]:
    """The columns of cell_history.csv; start_time and end_time count from the origin."""
    rows = [(c.index, c.source, c.start - origin, c.end - origin, c.duration, c.start, c.end) for c in cells]
    return {name: [row[i] for row in rows] for i, name in enumerate(HISTORY)}


class Figure(NamedTuple):
    """One line of a report."""

    name: str
    mean: float
    low: float
    high: float
    total: Optional[float]

    def texts(self) -> Tuple[str, ...]:
        total = "-" if self.total is None else f"{self.total:.2f}"
        return (self.name, f"{self.mean:.2f}", f"{self.low:.2f}", f"{self.high:.2f}", total)


class Report(NamedTuple):
    """What some cells used, at one level."""

    level: str
    cells: List[Cell]
    tags: List[str]
    figures: List[Figure]
    findings: List[str]
    signature: bool = False  # whether the tags are shown, as older monitors do
    note: str = ""  # how the figures came about, where they are no samples of the cells

    def _head(self) -> str:
        seconds = sum(c.duration for c in self.cells)
        places = str(self.cells[0].index)
        if len(self.cells) > 1:
            places += f" to {self.cells[-1].index}"
        noun = "cell" if len(self.cells) == 1 else "cells"
        return f"Duration: {seconds:.2f}s ({len(self.cells)} {noun}: {places}), level {self.level}{self.note and '; '}{self.note}"

    def __str__(self) -> str:
        lines = ["-" * 40, "assay Performance Report", "-" * 40, self._head(), "-" * 40]
        if self.signature:
            lines += ["Signature(s):", " | ".join(self.tags), "-" * 40] if self.tags else []
        else:
            lines += [*self.findings, "-" * 40]
        lines += [f"{'Metric':<25} {'AVG':<8} {'MIN':<8} {'MAX':<8} {'TOTAL':<8}".rstrip(), "-" * 65]
        lines += ["{:<25} {:<8} {:<8} {:<8} {:<8}".format(*f.texts()).rstrip() for f in self.figures]
        return "\n".join(lines + (self.findings if self.signature else []))

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        tags = "".join(f" <span class=tag>{html.escape(t)}</span>" for t in self.tags) if self.signature else ""
        rows = [f.texts() for f in self.figures]
        found = "".join(f"<p>{html.escape(line)}</p>" for line in self.findings)
        return boxed(f"<b>assay</b> {html.escape(self._head())}{tags}{found}{table(('Metric', 'AVG', 'MIN', 'MAX', 'TOTAL'), rows)}")


def _is_bound(recording: Recording, level: str, rows: Sequence[int]) -> bool:
    """Whether pages that processes share are counted in each, in some of the rows of a level."""
    columns = recording.columns(level)
    bound, uss = columns.get("memory_is_bound", []), columns.get("uss", [])
    return any(i < len(bound) and bound[i] > 0 and not (i < len(uss) and uss[i] == uss[i]) for i in rows)


def _figures(recording: Recording, level: str, columns: Dict[str, Column], rows: Sequence[int], sampled: Sequence[int]) -> List[Figure]:
    """Of some rows of the columns; sampled: the level's rows that they come from."""
    known = recording.describe()
    totals = {"limit": recording.memory_limits.get(level), "gpu": recording.gpu_memory}
    found = []
    for title, name, total in FIGURES:
        column = columns.get(name, [])
        values = [column[i] for i in rows if not math.isnan(column[i])] if len(column) else []
        if values:
            at_most = name == "memory" and _is_bound(recording, level, sampled)
            title = title.replace("(GB)", "(GB, at most)") if at_most else title
            found.append(Figure(title.format(cpus=known["num_cpus"], gpus=known["num_gpus"]),
                                sum(values) / len(values), min(values), max(values), totals.get(total or "")))
    return found


def _places(recording: Recording, cells: Sequence[Cell]) -> List[int]:
    """Where the cells are in the list of phases, which has others too."""
    wanted = {c.index for c in cells}
    rows = recording.phases()
    named = any("raw_cell" in row["data"] for row in rows)
    return [i for i, row in enumerate(rows) if (row["data"].get("cell_index") if named else i) in wanted]


def phase_range(recording: Recording, cells: Sequence[Cell]) -> Optional[str]:
    """The cells as a range of the list of phases; None when none of them was recorded."""
    places = _places(recording, cells)
    return f"{places[0]}:{places[-1] + 1}" if places else None


def _times(recording: Recording, level: Level, cells: Sequence[Cell]) -> Set[float]:
    """The times of the samples that are the cells', as the library decides for every phase."""
    found: Set[float] = set()
    for place in _places(recording, cells):
        found.update(recording.columns(f"notebook:{level}", phase=f"{place}:{place + 1}").get("time", []))
    return found


def _judge(recording: Recording, level: Level, cells: Sequence[Cell]) -> Tuple[List[str], List[str]]:
    """The tags of the cells, strongest first, and the findings in words, with what to try."""
    phase = phase_range(recording, cells)
    if phase is None:
        return [], []
    told = recording._told(level, phase)
    found = findings_of(told, recording.num_gpus)
    return [t["tag"].upper() for t in told["run"]["tags"]], found if recording.num_gpus else found + _main_lines(recording, phase)


# As the library: fewer samples say nothing about shares, and what is rarer is left out.
LEAST_LOOKS, LEAST_OF_PLACE, LEAST_SHARE = 20, 5, 0.05
OF_MAIN = " of the main thread's time at"


def _main_lines(recording: Recording, phase: str) -> List[str]:
    """The lines in which the kernel's main thread was while the cells ran, where no GPU tells whose time counts."""
    columns = recording.columns("stacks", phase=phase)
    names = ("pid", "looks", "seconds", "file", "line", "function")
    rows = [row for main, *row in zip(columns.get("main", []), *(columns.get(name, []) for name in names)) if main]
    # What the kernel started ends before it.
    lived = Counter({row[0]: 0.0 for row in rows})
    for row in rows:
        lived[row[0]] += row[2]
    own = [row for row in rows if row[0] == lived.most_common(1)[0][0]]
    total = sum(row[2] for row in own)
    if sum(row[1] for row in own) < LEAST_LOOKS or total <= 0:
        return []
    looks: "Counter[Any]" = Counter()
    seconds: "Counter[Any]" = Counter()
    for row in own:
        looks[tuple(row[3:])] += row[1]
        seconds[tuple(row[3:])] += row[2]
    places = [(s / total, place) for place, s in seconds.most_common() if place[0] and looks[place] >= LEAST_OF_PLACE and s >= LEAST_SHARE * total][:3]
    told = [f"{share * 100:.0f} %{OF_MAIN if i == 0 else ''} {_line(*place)}" for i, (share, place) in enumerate(places)]
    return [f"where: {', '.join(told)}"] if told else []


def _line(file: str, line: float, function: Optional[str]) -> str:
    known = "" if line != line else f", line {line:.0f}" if file.startswith("cell ") else f":{line:.0f}"
    return file.rpartition("/")[2] + known + (f" {function}" if function and function != "<module>" else "")


def newest_measured(recording: Recording, cells: Sequence[Cell], level: Level) -> Optional[Cell]:
    """The last of the cells in which a sample was taken."""
    return next((c for c in reversed(cells) if _times(recording, level, [c])), None)


def report(recording: Recording, cells: Sequence[Cell], level: Level) -> Optional[Report]:
    """The report of some cells; None when no sample was taken while they ran."""
    # The session's times of the cells, so that a report is the same from a file.
    recorded = {c.index: c for c in recording.cells()}
    cells = [recorded.get(c.index, c) for c in cells]
    columns = recording.columns(f"notebook:{level}")
    inside = _times(recording, level, cells)
    rows = [i for i, t in enumerate(columns.get("time", [])) if t in inside]
    if not rows:
        return None
    tags, found = _judge(recording, level, cells)
    return Report(level, list(cells), tags, _figures(recording, level, columns, rows, rows), found)


def report_between(recording: Recording, cells: Sequence[Cell], level: Level) -> Optional[Report]:
    """Of cells in which no sample was taken: from the samples before and after them, as much of each as it is near. None when one
    is missing."""
    times = recording.columns(level).get("time", [])
    columns = recording.columns(f"notebook:{level}")
    first, last = cells[0].start, cells[-1].end
    before = [i for i, t in enumerate(times) if t <= first]
    after = [i for i, t in enumerate(times) if t >= last]
    if not before or not after or len(columns.get("time", [])) != len(times):
        return None
    a, b = before[-1], after[0]
    part = ((first + last) / 2 - times[a]) / (times[b] - times[a]) if times[b] > times[a] else 0.0
    middle: Dict[str, Column] = {name: [v[a] + part * (v[b] - v[a])] for name, v in columns.items()}
    note = f"no sample was taken meanwhile: estimated from those {first - times[a]:.2f} s before and {times[b] - last:.2f} s after"
    found = ["Too short to say what limited the GPUs: %assay start 0.1 samples ten times a second"] if recording.num_gpus else []
    return Report(level, list(cells), [], _figures(recording, level, middle, [0], [a, b]), found, note=note)
