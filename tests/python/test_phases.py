"""One rule says which samples are a phase's: reports, tables, exports and --phase agree."""
import csv
import io
import json
import math
import zipfile

import pytest

import assay

from .conftest import ROOT

TOUR = ROOT / "docs" / "example" / "tour.assay"
METRICS = ("sm_active", "tensor_active", "power", "gpu_util")


@pytest.fixture(scope="module")
def run():
    return assay.Session(TOUR)


@pytest.fixture(scope="module")
def told(run):
    return json.loads(str(run.report("json")))


def fresh(table, name):
    """A row that is stale repeats what was counted when it was new."""
    return [v for v, old in zip(table[name], table["stale"]) if not old and not math.isnan(v)]


def same(a, b):
    return math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-9)


def test_report_and_table(run, told):
    assert len(told["phases"]) == 14
    for phase in told["phases"]:
        table = run.columns("gpus", phase=phase["name"])
        only = json.loads(str(run.report("json", phase=phase["name"])))["run"]
        assert len(table["time"]) == phase["ticks"] == only["ticks"]
        for name in METRICS:
            figures, values = phase["gpus"][0]["metrics"][name], fresh(table, name)
            assert len(values) == figures["samples"], (phase["name"], name)
            assert same(sum(values) / len(values), figures["mean"]), (phase["name"], name)
            assert same(only["gpus"][0]["metrics"][name]["mean"], figures["mean"]), (phase["name"], name)


def test_cells_of_an_export(run, told, tmp_path):
    """Phases that do not nest are cells, by their places: each row is counted where the report counts it."""
    path = tmp_path / "run.zip"
    run.export(path, to="notebook")
    with zipfile.ZipFile(path) as z:
        name = next(n for n in z.namelist() if n.endswith("system.csv"))
        rows = list(csv.DictReader(io.TextIOWrapper(z.open(name))))
    table = run.columns("notebook:system")
    assert [r["cell_index"] for r in rows] == ["" if math.isnan(c) else str(int(c)) for c in table["cell_index"]]
    for place, phase in enumerate(run.phases()):
        chosen = run.columns("notebook:system", phase=f"{place}:{place + 1}")["time"]
        inside = [t for t, c in zip(table["time"], table["cell_index"]) if c == place]
        assert list(chosen) == inside, phase["name"]
