"""How runs, reports and plots look in a notebook. Everything that came from elsewhere is escaped."""
from __future__ import annotations

import html
import math
from pathlib import Path
from typing import Any, Dict, Iterable, List, Mapping, Optional, Sequence, Tuple, Union

GIB = 2.0**30
FINDINGS_SHOWN = 3
# Of a GPU in the table of a run: heading, metric, factor, text.
_COLUMNS: Tuple[Tuple[str, str, float, str], ...] = (
    ("utilization", "gpu_util", 100, "{:.0f} %"), ("SM active", "sm_active", 100, "{:.0f} %"),
    ("tensor", "tensor_active", 100, "{:.0f} %"), ("DRAM", "dram_active", 100, "{:.0f} %"),
    ("memory", "fb_used", 1 / GIB, "{:.1f} GiB"), ("power", "power", 1, "{:.0f} W"))


# Colours and shapes of a report's page, for what stands in a notebook's output; the dark ones where the notebook or the system is dark.
_LIGHT = ("--card:#fff;--ink:#16202b;--soft:#55606c;--line:#d7dde4;--accent:#0b5cad;--side-compute:#1a7f4b;--side-memory:#2a6fd6;"
          "--side-copy:#8a4fc4;--side-host:#d07a1d;--side-idle:#b3bcc6;--side-none:#dfe4e9;--side-mixed:#8c6d31")
_DARK = ("--card:#141b22;--ink:#e7ecf1;--soft:#9aa7b4;--line:#26313b;--accent:#6cb2f7;--side-compute:#3fb871;--side-memory:#4b95f5;"
         "--side-copy:#b27bf0;--side-host:#f0a040;--side-idle:#46525e;--side-none:#222b34;--side-mixed:#c9a86a")
_STYLE = f"""<style>
.assay,[data-jp-theme-light=true] .assay{{{_LIGHT}}}
@media (prefers-color-scheme:dark){{.assay{{{_DARK}}}}}
[data-jp-theme-light=false] .assay,.vscode-dark .assay{{{_DARK}}}
.assay{{background:var(--card);color:var(--ink);padding:.4em .6em;font-variant-numeric:tabular-nums;overflow-x:auto}}
.assay ol{{list-style:none;padding:0;margin:.5em 0;display:grid;gap:.5em}}
.assay li{{border:1px solid var(--line);border-left:4px solid var(--side,var(--accent));border-radius:0 10px 10px 0;padding:.5em .9em;overflow-wrap:anywhere}}
.assay p{{margin:.2em 0}}
.assay .soft{{color:var(--soft)}}
.assay .tag{{border:1px solid var(--line);border-radius:4px;padding:0 .4em}}
.assay table{{border-collapse:collapse;margin:.5em 0}}
.assay tr,.assay td,.assay th{{background:none;text-align:left;border:0}}
.assay td,.assay th{{padding:.3em .9em .3em 0;border-bottom:1px solid var(--line)}}
.assay th{{color:var(--soft);font-weight:600;font-size:.85em}}
</style>"""
# The sides of limiters by the first word of their names; the others are the kernels' own.
_SIDES = {"host": "host", "launch": "host", "idle": "idle", "copy": "copy", "memory": "memory", "unknown": "none"}


def boxed(inside: str) -> str:
    """What an object shows in a notebook: markup in the style of a report's page."""
    return f"{_STYLE}<div class=assay>{inside}</div>"


def table(head: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """A table; texts are escaped."""
    def line(tag: str, words: Sequence[Any]) -> str:
        return "<tr>" + "".join(f"<{tag}>{html.escape(str(w))}</{tag}>" for w in words) + "</tr>"
    return f"<table>{line('th', head)}{''.join(line('td', row) for row in rows)}</table>"


def finding_item(limiter: str, text: str, where: str, advice: str) -> str:
    """A finding as an item of a list, with the colour of its limiter."""
    lines = [f"<p><b>Where:</b> {html.escape(where)}</p>"] * bool(where) + [f"<p><b>Try:</b> {html.escape(advice)}</p>"] * bool(advice)
    side = _SIDES.get(limiter.split(".")[0], "compute")
    return f'<li style="--side:var(--side-{side})">{html.escape(text)}{"".join(lines)}</li>'


class Report(str):
    """A report: a text that a notebook shows as it is meant to look."""

    kind: str

    def __new__(cls, text: str, kind: str = "text") -> "Report":
        made = super().__new__(cls, text)
        made.kind = kind
        return made

    def __repr__(self) -> str:
        return f"<a page of {len(self):,} characters>" if self.kind == "html" else str(self)

    def _repr_html_(self) -> str:
        if self.kind == "html":
            return (f'<iframe srcdoc="{html.escape(self, quote=True)}" sandbox="allow-scripts" '
                    'style="width:100%;height:40em;border:1px solid #8884"></iframe>')
        return boxed(f"<pre>{html.escape(self)}</pre>")


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
    """A run: who, how long, the first findings, the GPUs."""
    found = told.get("findings") or []
    items = "".join(finding_item(str(f.get("limiter")), str(f.get("text") or ""), where_of(f), str(f.get("try") or "")) for f in found[:FINDINGS_SHOWN])
    gpus = (told.get("run") or {}).get("gpus") or []
    return boxed(f"<b>{html.escape(name)}</b><p class=soft>{html.escape(', '.join(_facts(known, told)))}</p>"
                 + (f"<ol>{items}</ol>" if items else "") + _gpus(gpus))


def failure(name: str, error: Exception) -> str:
    return boxed(f"<b>{html.escape(name)}</b><p>{html.escape(str(error))}</p>")
