"""What docs/ARCHITECTURE.md says of edits to add a thing: the rows that are there need no more than that."""
import re

import pytest

from conftest import ROOT

SRC = ROOT / "src"
FILES = {str(p.relative_to(SRC)): p.read_text() for p in sorted(SRC.rglob("*")) if p.suffix in (".c", ".h", ".def")}
WORDS = {p: set(re.findall(r"\w+", re.sub(r"/\*.*?\*/", "", text, flags=re.S))) for p, text in FILES.items()}


def rows(table, macro):
    return re.findall(rf"^{macro}\((\w+)", FILES[table], flags=re.M)


def users(symbol, but=r"$^"):
    """Files that name a symbol, but for those in which that is the edit itself."""
    return [p for p, words in WORDS.items() if symbol in words and not re.search(but, p)]


# A table, its macro, the symbol of a row, where it may stand besides the table, and how many files that is at the most.
ENDS_IN_A_SYMBOL = [
    ("cmd/commands.def", "COMMAND", "command_{}", r"^cmd/(?!serve_without)", 1, "a command: its file and the row"),
    ("formats/formats.def", "FORMAT", "format_{}", r"^formats/\w+/", 1, "a foreign format: its file and the row"),
    ("present/tui/views.def", "VIEW", "view_{}", r"^present/tui/view_", 1, "a dashboard tab: its file and the row"),
]


@pytest.mark.parametrize("table, macro, symbol, place, most, why", ENDS_IN_A_SYMBOL)
def test_one_file_and_one_row(table, macro, symbol, place, most, why):
    found = rows(table, macro)
    assert len(found) > 3
    for name in found:
        symbol_of = symbol.format(name.lower())
        files = [p for p in users(symbol_of) if not p.endswith("serve_without.c")]
        assert len(files) <= most and all(re.search(place, p) for p in files), (why, name, files)


def test_a_finding_is_a_row():
    """Of all findings only one is named elsewhere: what is said of a GPU whose finding a recording does not have."""
    found = rows("model/findings.def", "FINDING")
    assert len(found) > 10
    assert {n: users(f"FINDING_{n}") for n in found if users(f"FINDING_{n}")} == {"GPU_HOT": ["present/report/report.c"]}


def test_a_class_is_a_row():
    """Classes are told by their rows; those that are named are the ends of the cascade and of tables."""
    named = [n for n in rows("model/classes.def", "CLASS") if users(f"WORKLOAD_{n}")]
    assert len(named) <= 3, named


# Metrics that compute/ and views have nothing special for: they are in tables, JSON, sessions and `assay metrics` all the same.
def test_a_metric_is_a_row_and_its_producers():
    plain = []
    for name in rows("model/metrics.def", "METRIC"):
        files = [p for p, words in WORDS.items() if name in words or f"METRIC_{name}" in words]
        if all(re.match(r"model/metrics\.def|translate/|read/\w+/fields\.def", p) for p in files):
            plain.append(name)
    assert len(plain) >= 20, plain


def test_a_host_figure_is_a_row():
    """Rates, shares and what the kernel is asked for anyway are rows alone; else read/host has the line that reads it."""
    alone = {m: [n for n in rows("model/host.def", m) if not users(f"{m}_{n}", r"^read/host/")]
             for m in ("FIGURE", "SYSTEM", "EVIDENCE")}
    assert all(len(names) >= 3 for names in alone.values()), alone


def test_the_table_of_edits():
    """Each line with a number of edits names as many files, or the one table."""
    lines = re.findall(r"^\| (an? [^|]+) \| (\d) \| ([^|]+)\|", (ROOT / "docs" / "ARCHITECTURE.md").read_text(), flags=re.M)
    edits = {what: int(n) for what, n, _ in lines}
    for what, n in {"a metric": 2, "a host figure": 1, "a source": 3, "an option": 1, "a command": 2, "a dashboard tab": 2,
                    "a foreign format": 2, "a health finding": 1, "an export format": 1}.items():
        assert edits[what] == n, what
