"""What limits the GPUs: findings, and the stretches of time that they are about."""
from __future__ import annotations

import ctypes
import dataclasses
import math
from array import array
from typing import TYPE_CHECKING, Any, Dict, Iterable, List, Mapping, Optional, Tuple

from . import show
from ._lib import Options, call, lib, object_of

if TYPE_CHECKING:
    import pandas


# What only a verdict without profiling counters has.
_LIKELY = ("candidates", "power_at_rest", "sure")


class _Fields:
    """Fields by attribute and, as in the JSON, by name: f.text, f["text"]."""

    def to_dict(self) -> Dict[str, Any]:
        """The members of the JSON, with plain lists and dicts."""
        return {("try" if name == "advice" else name): _plain(getattr(self, name))
                for name in (f.name for f in dataclasses.fields(self)) if name not in _LIKELY or getattr(self, name) is not None}

    def __getitem__(self, name: str) -> Any:
        return self.to_dict()[name]


def _plain(value: Any) -> Any:
    if isinstance(value, _Fields):
        return value.to_dict()
    return list(value) if isinstance(value, tuple) else dict(value) if isinstance(value, dict) else value


@dataclasses.dataclass(frozen=True)
class Flops(_Fields):
    """FLOP/s of one GPU, dense, if all its work was of the type: at least lo, at most hi."""

    type: str
    lo: float
    hi: float

    def __str__(self) -> str:
        return f"{self.lo / 1e12:.4g} to {self.hi / 1e12:.4g} TFLOP/s {self.type}"


@dataclasses.dataclass(frozen=True)
class Place(_Fields):
    """A line of the program in which time went: the innermost of the program's own code, and the library's line that it is in."""

    what: str
    words: str
    text: str
    share: float
    looks: int
    file: str
    line: int
    function: str
    in_file: Optional[str]
    in_line: Optional[int]
    in_function: Optional[str]

    def __str__(self) -> str:
        return f"{self.share * 100:.0f} % {self.words} {self.text}"


class _Placed(_Fields):
    """What has lines."""

    where: Any

    @property
    def places(self) -> Tuple[Place, ...]:
        """The lines in which its time went, the largest share first; none where stacks were not recorded or tell too little."""
        return tuple(_place(part, told) for part in self.where or () for told in part["places"])

    @property
    def where_text(self) -> str:
        """The same in words; empty without."""
        return show.where_of({"where": self.where})


def _place(part: Mapping[str, Any], told: Mapping[str, Any]) -> Place:
    own, inner = told["own"], told["inner"] or {}
    text = own["text"] + (f" (in {inner['text']})" if inner else "")
    return Place(part["what"], part["words"], text, told["share"], told["looks"], own["file"], own["line"], own["function"],
                 inner.get("file"), inner.get("line"), inner.get("function"))


@dataclasses.dataclass(frozen=True)
class Stretch(_Placed):
    """A part of the run in which GPUs did one kind of thing. Seconds count from the first tick."""

    stretch: int
    begin_s: float
    end_s: float
    gpus: Tuple[str, ...]
    phase: Optional[str]
    limiter: str
    held_by: Optional[str]
    duty: Optional[float]
    uneven: float
    before_work: bool
    flops: Optional[Flops]
    rule: str
    missing: Tuple[str, ...]
    evidence: Dict[str, Optional[float]]
    where: Optional[Any] = None
    basis: str = "counters"
    candidates: Optional[Tuple[str, ...]] = None
    power_at_rest: Optional[Dict[str, Any]] = None
    sure: Optional[str] = None

    @property
    def seconds(self) -> float:
        return self.end_s - self.begin_s


@dataclasses.dataclass(frozen=True)
class Finding(_Placed):
    """One thing worth telling: what limited GPUs, for how long, what could be won, what to try (`advice`)."""

    limiter: str
    held_by: Optional[str]
    stretch: int
    stretches: int
    phase: Optional[str]
    gpus: Tuple[str, ...]
    seconds: float
    gpu_seconds: float
    run_s: float
    run_at_best_s: float
    gain: Optional[float]
    text: str
    advice: str
    where: Optional[Any] = None
    basis: str = "counters"
    candidates: Optional[Tuple[str, ...]] = None
    power_at_rest: Optional[Dict[str, Any]] = None
    sure: Optional[str] = None

    def __str__(self) -> str:
        where = f"\nwhere: {self.where_text}" if self.where_text else ""
        return f"{self.text}{where}\ntry: {self.advice}"

    def _repr_html_(self) -> str:
        return show.boxed(f"<ol>{self._item()}</ol>")

    def _item(self) -> str:
        return show.finding_item(self.limiter, self.text, self.where_text, self.advice)


class _Rows(List[Any]):
    """A list that knows its rows, and how to show them."""

    def to_dict(self) -> List[Dict[str, Any]]:
        return [one.to_dict() for one in self]

    def columns(self) -> Dict[str, Any]:
        """Arrays of numbers (NaN is missing) and lists of texts. GPUs and what is missing are joined by commas, lines are in words; flops and evidence are columns."""
        rows = [_flat(row) for row in self.to_dict()]
        return {name: _column([row.get(name) for row in rows]) for name in dict.fromkeys(k for row in rows for k in row)}

    def data(self) -> "pandas.DataFrame":
        """The same as a data frame: one row each."""
        from .session import frame_of
        return frame_of(self.columns())


def _column(values: List[Any]) -> Any:
    known = [v for v in values if v is not None]
    if known and all(isinstance(v, (int, float)) and not isinstance(v, bool) for v in known):
        return array("d", (math.nan if v is None else v for v in values))
    return values


def _flat(row: Mapping[str, Any]) -> Dict[str, Any]:
    flat: Dict[str, Any] = {}
    for name, value in row.items():
        if name == "where":
            flat[name] = show.where_of({"where": value})
        elif isinstance(value, dict):
            flat.update({f"{name}.{key}": inner for key, inner in value.items()})
        else:
            flat[name] = ",".join(value) if isinstance(value, list) else value
    return flat


class Stretches(_Rows):
    """The run in stretches, in order of time."""

    def __repr__(self) -> str:
        return "\n".join(f"{s.begin_s:8.1f} to {s.end_s:8.1f} s  GPU {', '.join(s.gpus)}  {s.limiter}"
                         + (f", clocks held by {s.held_by}" if s.held_by else "") for s in self) or "no stretches"

    def _repr_html_(self) -> str:
        rows = [(f"{s.begin_s:.1f}", f"{s.end_s:.1f}", ", ".join(s.gpus), s.phase or "", s.limiter, s.held_by or "",
                 "--" if s.duty is None else f"{s.duty * 100:.0f} %", s.flops or "") for s in self]
        return show.boxed(show.table(["from, s", "to, s", "GPU", "phase", "limiter", "held by", "kernels ran", "FLOP/s"], rows))


class Findings(_Rows):
    """What limited the run, what matters most first. `stretches` are the parts of the run that they are about."""

    def __init__(self, found: Iterable[Finding] = (), stretches: Iterable[Stretch] = ()) -> None:
        super().__init__(found)
        self.stretches = Stretches(stretches)

    def __repr__(self) -> str:
        return "\n".join(f"{i + 1} {f}" for i, f in enumerate(self)) or "no findings"

    def _repr_html_(self) -> str:
        if not self:
            return show.boxed("no findings")
        return show.boxed("<ol>" + "".join(f._item() for f in self) + "</ol>")


def _named(told: Mapping[str, Any], of: Any) -> Dict[str, Any]:
    named = {f.name: told.get(f.name) if f.name in _LIKELY else told["try" if f.name == "advice" else f.name] for f in dataclasses.fields(of)}
    if named["candidates"] is not None:
        named["candidates"] = tuple(named["candidates"])
    return named


def _stretch(told: Mapping[str, Any]) -> Stretch:
    flops = told["flops"]
    named = _named(told, Stretch)
    named.update(gpus=tuple(told["gpus"]), missing=tuple(told["missing"]), flops=Flops(**flops) if flops else None)
    return Stretch(**named)


def _finding(told: Mapping[str, Any]) -> Finding:
    named = _named(told, Finding)
    named.update(gpus=tuple(told["gpus"]))
    return Finding(**named)


def read(path: bytes, options: Mapping[str, Any]) -> Findings:
    """Those of a recording, as `assay report` has them."""
    handle = ctypes.c_void_p()
    with Options(options) as chosen:
        call(lib().assay_file_findings, path, chosen, ctypes.byref(handle))
    try:
        told = object_of(lib().assay_findings_json, handle)
    finally:
        lib().assay_findings_free(handle)
    return Findings((_finding(f) for f in told["findings"]), (_stretch(s) for s in told["stretches"]))
