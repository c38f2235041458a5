"""docs/COMPATIBILITY.md: old sessions, CSV and JSON lines are read for ever, newer sessions are refused with a hint."""
import json
import shutil
import sqlite3

import pytest

from conftest import FIXTURES

# Each file was written by the version that first had its schema. Never remove one.
OLD = {"schema1.assay": 1}


@pytest.mark.parametrize("name, schema", OLD.items())
def test_old_sessions_are_read(assay, tmp_path, name, schema):
    path = tmp_path / name
    shutil.copy(FIXTURES / "session" / name, path)
    with sqlite3.connect(path) as db:
        assert db.execute("select value from manifest where key = 'schema_version'").fetchone()[0] in (schema, str(schema))
    before = path.read_bytes()
    for args in (("report", path), ("report", path, "--format", "html"), ("once", path), ("plot", path, "-o", tmp_path / "p.svg"),
                 ("export", path), ("convert", path, tmp_path / "c.csv")):
        done = assay(*args)
        assert done.returncode == 0, (args, done.stderr)
    report = json.loads(assay("report", path, "--format", "json").stdout)
    assert report["ticks_taken"] > 0
    assert path.read_bytes() == before, "reading changes nothing"


# Written by 0.1.0: `export all --count 6` of schema1.assay, `--count 2` of dcgm/dmon-mig-all.txt. Never change one.
WRITTEN = FIXTURES / "0.1"


@pytest.mark.parametrize("source, same, more", [
    (WRITTEN / "h200.csv", "h200.csv", ()), (WRITTEN / "h200.jsonl", "h200.csv", ()),
    (WRITTEN / "mig.csv", "mig.csv", ()), (WRITTEN / "mig.jsonl", "mig.csv", ()),
    (FIXTURES / "session/schema1.assay", "h200.csv", ("--count", "6")),
], ids=lambda x: getattr(x, "name", None))
def test_values_of_0_1_are_the_same(assay, source, same, more):
    """Every column that 0.1.0 wrote, from each kind of file: what was missing is missing, what was there has its value."""
    written = (WRITTEN / same).read_text()
    columns = written.split("\n", 1)[0]
    done = assay("export", columns, source, *more)
    assert (done.returncode, done.stderr) == (0, "") and done.stdout == written


def test_newer_session_is_refused(assay, tmp_path):
    path = tmp_path / "future.assay"
    shutil.copy(FIXTURES / "session" / "schema1.assay", path)
    with sqlite3.connect(path) as db:
        db.execute("pragma user_version = 999")
    db.close()
    done = assay("report", path)
    assert done.returncode != 0 and "newer" in done.stderr, done.stderr
