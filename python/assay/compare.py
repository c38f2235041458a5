"""Two runs, or repeats of them, compared as `assay diff` does."""
from __future__ import annotations

import ctypes
import json
from typing import TYPE_CHECKING, Any, Dict, List, Optional, Sequence, Union

from . import show
from ._lib import Options, encode, lib, text_of
from .session import PathLike, Recording, frame_of

if TYPE_CHECKING:
    import pandas

Run = Union[PathLike, Recording]
Runs = Union[Run, Sequence[Run]]


def _paths(runs: Runs) -> List[bytes]:
    listed = list(runs) if isinstance(runs, (list, tuple)) else [runs]
    return [run._file() if isinstance(run, Recording) else (encode(run) or b"") for run in listed]


class Diff:
    """What differs between two sides. `verdict` is faster, slower, no difference or inconclusive."""

    def __init__(self, base: Runs, new: Runs, options: Dict[str, Any]) -> None:
        self._sides = _paths(base), _paths(new)
        self._options = options
        self._told: Dict[str, Any] = json.loads(self._write("json"))

    def _write(self, format: str) -> str:
        base, new = ((ctypes.c_char_p * len(side))(*side) for side in self._sides)
        with Options(self._options) as handle:
            return text_of(lib().assay_diff, base, len(base), new, len(new), encode(format), handle)

    @property
    def verdict(self) -> str:
        return str(self._told["verdict"])

    @property
    def comparable(self) -> bool:
        return bool(self._told["comparable"])

    @property
    def cause(self) -> Optional[str]:
        """The one change that explains the others, in words; None when the numbers carry none."""
        return (self._told.get("cause") or {}).get("text")

    @property
    def status(self) -> int:
        """The exit status of `assay diff`: 0 within the gates, 1 beyond, 3 inconclusive."""
        return int(self._told["status"])

    def to_dict(self) -> Dict[str, Any]:
        """Everything, as `assay diff --format json` writes it."""
        return json.loads(json.dumps(self._told))  # type: ignore[no-any-return]

    def rows(self) -> List[Dict[str, Any]]:
        """One a figure and phase: base, new, change with its interval, word."""
        return [dict(row) for row in self._told["rows"] + self._told["phases"]]

    def data(self) -> "pandas.DataFrame":
        """The rows as a data frame."""
        rows = self.rows()
        return frame_of({key: [row[key] for row in rows] for key in rows[0]} if rows else {})

    def report(self, format: str = "text") -> "show.Report":
        """text, json, markdown, html or junit."""
        return show.Report(self._write(format), format)

    def __repr__(self) -> str:
        return str(self._told["text"])

    def _repr_html_(self) -> str:
        return self.report("html")._repr_html_()


def diff(base: Runs, new: Runs, *, gate: Optional[str] = None, allow: Optional[str] = None) -> Diff:
    """Compares recordings: paths, sessions or monitors; lists of them are repeats of one run.

    gate: how much worse new may be, "time=5%,energy=10%,memory=2GiB"; allow: differences that shall not forbid a
    verdict, "gpus,model,mig,coverage,exit,ranks"."""
    return Diff(base, new, {"gate": gate, "allow": allow})
