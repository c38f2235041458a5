"""Which unit a column has. Tables are in SI units under the names of JSON; a notebook session has its own."""
from __future__ import annotations

import re
from typing import Dict, Iterable, Optional

from ._lib import decode, encode, lib

# Columns besides metrics and figures.
_OWN = {"time": "s since 1970", "start_time": "s since 1970", "end_time": "s since 1970", "elapsed": "s", "seconds": "s",
        "tick": "", "stale": "", "open": "", "value": ""}
_USES = {"util": "ratio", "band": "ratio", "memory": "B"}
_NOTEBOOK = (("time", "s"), ("memory", "GiB"), ("io_.*_count", "1/s"), ("io_.*", "B/s"), ("gpu_mem_.*", "GiB"),
             ("(cpu|gpu)_.*", "%"), ("cell_index", ""))


def _of_library(name: str, kind: str) -> Optional[str]:
    at = getattr(lib(), f"assay_{kind}_find")(encode(name))
    return decode(getattr(lib(), f"assay_{kind}_unit")(at)) if at >= 0 else None


def _notebook_unit(name: str) -> Optional[str]:
    return next((unit for pattern, unit in _NOTEBOOK if re.fullmatch(pattern, name)), None)


def _unit(name: str, kinds: Iterable[str]) -> Optional[str]:
    if name in _OWN:
        return _OWN[name]
    if name.startswith("gpus."):
        return _USES.get(name.rpartition(".")[2])
    if name.startswith("cores."):
        return "ratio"
    plain = name[len("system."):] if name.startswith("system.") else name
    return next((unit for unit in (_of_library(plain, kind) for kind in kinds) if unit is not None), None)


def units_of(what: str, names: Iterable[str]) -> Dict[str, str]:
    """Column → unit, for those that have one."""
    if what.startswith("notebook:"):
        found = {name: _notebook_unit(name) for name in names}
    else:
        kinds = ("metric",) if what == "gpus" else ("figure", "system_figure")
        found = {name: _unit(name, kinds) for name in names}
    return {name: unit for name, unit in found.items() if unit}
