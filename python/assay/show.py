"""How runs, reports and plots look in a notebook. Everything that came from elsewhere is escaped."""
from __future__ import annotations

import html
import math
from pathlib import Path
from typing import Any, Dict, Iterable, List, Mapping, Optional, Sequence, Tuple, Union

GIB = 2.0**30
# Of a GPU in the table of a run: heading, metric, factor, text.
_COLUMNS: Tuple[Tuple[str, str, float, str], ...] = (
    ("utilization", "gpu_util", 100, "{:.0f} %"), ("SM active", "sm_active", 100, "{:.0f} %"),
    ("tensor", "tensor_active", 100, "{:.0f} %"), ("DRAM", "dram_active", 100, "{:.0f} %"),
    ("memory", "fb_used", 1 / GIB, "{:.1f} GiB"), ("power", "power", 1, "{:.0f} W"))


def table(head: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """A plain HTML table."""
    def line(tag: str, words: Sequence[Any]) -> str:
        return "<tr>" + "".join(f'<{tag} style="text-align:left">{html.escape(str(w))}</{tag}>' for w in words) + "</tr>"
    return f"<table>{line('th', head)}{''.join(line('td', row) for row in rows)}</table>"


class Report(str):
    """A report: a text that a notebook shows as it is meant to look."""

    kind: str

    def __new__(cls, text: str, kind: str = "text") -> "Report":
        made = super().__new__(cls, text)
        made.kind = kind
        return made

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        if self.kind == "html":
            return (f'<iframe srcdoc="{html.escape(self, quote=True)}" sandbox="allow-scripts" '
                    'style="width:100%;height:40em;border:1px solid #8884"></iframe>')
        return f"<pre>{html.escape(self)}</pre>"


class Plot:
    """A chart that a notebook shows; `svg` is its text."""

    def __init__(self, svg: str) -> None:
        self.svg = svg

    def save(self, path: "Union[str, Path]") -> Path:
        """Writes the SVG."""
        Path(path).write_text(self.svg, encoding="utf-8")
        return Path(path)

    def _repr_svg_(self) -> str:
        return self.svg

    def __repr__(self) -> str:
        return f"<assay.Plot, {len(self.svg)} bytes of SVG; save(path) keeps it>"


def _mean(gpu: Mapping[str, Any], metric: str) -> Optional[float]:
    value = (gpu.get("metrics") or {}).get(metric)
    mean = value.get("mean") if isinstance(value, dict) else None
    return mean if isinstance(mean, (int, float)) and math.isfinite(mean) else None


def _gpus(gpus: List[Dict[str, Any]]) -> str:
    """Means over the run; columns that no GPU has are left out."""
    shown = [c for c in _COLUMNS if any(_mean(g, c[1]) is not None for g in gpus)]
    rows = []
    for gpu in gpus:
        means = [(_mean(gpu, metric), factor, text) for _, metric, factor, text in shown]
        rows.append([gpu.get("gpu", ""), *("--" if m is None else text.format(m * factor) for m, factor, text in means)])
    return table(["GPU", *(c[0] for c in shown)], rows) if rows else ""


def _facts(known: Mapping[str, Any], told: Mapping[str, Any]) -> List[str]:
    run = told.get("run") or {}
    facts = []
    if known.get("gpus"):
        facts.append(f"{len(known['gpus'])} × {known.get('gpu_name') or 'GPU'}")
    if known.get("host"):
        facts.append(f"on {known['host']}")
    if isinstance(run.get("seconds"), (int, float)):
        facts.append(f"{run['seconds']:.1f} s")
    ticks = known.get("ticks") or {}
    if ticks.get("taken"):
        facts.append(f"{ticks['taken']} samples, {ticks.get('missed') or 0} missed")
    return facts


def _first(told: Mapping[str, Any]) -> Mapping[str, Any]:
    return next(iter(told.get("findings") or []), {})


def finding_of(told: Mapping[str, Any]) -> str:
    """The first finding in words; empty when there is none."""
    return str(_first(told).get("text") or "")


def advice_of(told: Mapping[str, Any]) -> str:
    """What to try about it."""
    return str(_first(told).get("try") or "")


def where_of(finding: Mapping[str, Any]) -> str:
    """The lines of a finding in words; empty without."""
    return "; ".join(str(part["text"]) for part in finding.get("where") or [])


def findings_of(told: Mapping[str, Any], gpus: int) -> List[str]:
    """All findings in words, numbered where there are several, each with what to try; what there is to say without one."""
    if not gpus:
        return ["No GPU was seen: these are the host's figures"]
    found = list(told.get("findings") or [])
    lines = []
    for i, finding in enumerate(found, 1):
        lines.append(f"{i} " * (len(found) > 1) + str(finding.get("text") or ""))
        if finding.get("where"):
            lines.append("  " * (len(found) > 1) + f"where: {where_of(finding)}")
        if finding.get("try"):
            lines.append("  " * (len(found) > 1) + f"try: {finding['try']}")
    return lines or ["No problems found"]


def recording(name: str, known: Mapping[str, Any], told: Mapping[str, Any]) -> str:
    """A run: who, how long, the finding, the GPUs."""
    lines = [html.escape(finding_of(told))] if finding_of(told) else []
    lines += [f"where: {html.escape(where_of(_first(told)))}"] if where_of(_first(told)) else []
    lines += [f"<i>try: {html.escape(advice_of(told))}</i>"] if advice_of(told) else []
    gpus = (told.get("run") or {}).get("gpus") or []
    return (f"<b>{html.escape(name)}</b><br>{html.escape(', '.join(_facts(known, told)))}"
            + "".join(f"<br>{line}" for line in lines) + _gpus(gpus))


def failure(name: str, error: Exception) -> str:
    return f"<b>{html.escape(name)}</b><br>{html.escape(str(error))}"
