"""docs/COMPATIBILITY.md: old sessions are read for ever, newer ones are refused with a hint."""
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


def test_newer_session_is_refused(assay, tmp_path):
    path = tmp_path / "future.assay"
    shutil.copy(FIXTURES / "session" / "schema1.assay", path)
    with sqlite3.connect(path) as db:
        db.execute("pragma user_version = 999")
    db.close()
    done = assay("report", path)
    assert done.returncode != 0 and "newer" in done.stderr, done.stderr
