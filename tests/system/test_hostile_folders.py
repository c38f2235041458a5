"""Folders of ranks that somebody else filled: links, fifos, ranks and clocks that cannot be."""
import json
import os
import shutil
import sqlite3

import pytest

from conftest import FIXTURES, tried
from test_crafted import ESCAPE, fine, is_quiet, limited  # noqa: F401

SEED = FIXTURES.parent / "fuzz" / "corpus" / "session" / "small.assay"
READERS = (["report"], ["report", "--format", "json"], ["report", "--format", "html"], ["once", "--source"], ["export", "--source"], ["diff"])
RANKS = [{"rank": str(i), "world_size": "3", "job_id": "7"} for i in range(3)]


@pytest.fixture
def ranks(tmp_path):
    """Gives a folder of so many ranks, each with facts of its own."""

    def make(*facts):
        folder = tmp_path / "job"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        for i, more in enumerate(facts):
            path = folder / f"rank-{i:04}.assay"
            shutil.copy(SEED, path)
            path.chmod(0o600)
            db = sqlite3.connect(path)
            db.executemany("insert or replace into manifest values(?, ?)", list(more.items()))
            db.commit()
            db.close()
        return folder

    return make


def read_all(limited, folder):  # noqa: F811
    for words in READERS:
        done = limited(*words, folder, *([folder] if words == ["diff"] else []))
        # What no rank says of itself is no job: who needs one says that.
        assert done.returncode == 2 and b"no ranks of one job" in done.stderr or fine(done)
        assert is_quiet(done.stderr.decode()) and ("html" in words or is_quiet(done.stdout.decode())), words
        assert b"18446744073" not in done.stdout
        if "json" in words:
            json.loads(done.stdout)


def test_files_that_are_none(ranks, limited, tmp_path):  # noqa: F811
    folder = ranks(*RANKS)
    os.mkfifo(folder / "rank-0010.assay")
    os.mkdir(folder / "rank-0011.assay")
    (folder / "rank-0012.assay").symlink_to("/dev/zero")
    (folder / "rank-0013.assay").symlink_to(folder)
    (folder / "rank-0014.assay").symlink_to("nowhere")
    (folder / "again").symlink_to(folder)
    read_all(limited, folder)
    assert limited("report", folder).stdout.startswith(b"job 7: 6 ranks on 1 node"), "each has two GPUs"


@pytest.mark.parametrize("facts", [
    [{"rank": "4294967295"}, {"rank": "-1"}, {"rank": "1e300"}],
    [{"rank": "0", "world_size": "18446744073709551615"}] * 3,
    [{"start_ns": "9223372036854775807"}, {"start_ns": "-9223372036854775807"}, {}],
    [{}, {"start_ns": "9223372036854775807"}, {"start_ns": "-9223372036854775807"}],
    [{key: ESCAPE for key in ("node", "host", "slurm_job", "user", "launcher", "local_rank")}] * 2,
], ids=["ranks", "a world", "clocks, far first", "clocks, far last", "escapes"])
def test_facts_that_cannot_be(ranks, limited, facts):  # noqa: F811
    read_all(limited, ranks(*facts))


def test_too_many_files(ranks, limited):  # noqa: F811
    folder = ranks({})
    for i in range(5000):
        (folder / f"x{i}.assay").touch()
    tried("hostile files")
    done = limited("report", folder)
    assert done.returncode == 2 and b"more than 4096 files" in done.stderr


@pytest.mark.parametrize("facts", [
    [{}, {}, {}],
    [{"start_ns": "9223372036854775807"}, {"start_ns": "-9223372036854775807"}, {"stop_ns": "-1"}],
    [{"command": "[" * 5000}, {"command": '["' + "x" * 100000 + '"]'}, {"command": "{}"}],
    [{key: ESCAPE for key in ("node", "host", "command", "user", "slurm_job")}] * 3,
    [{"job_id": ESCAPE, "rank": str(i), "world_size": "9"} for i in range(2)] + [{}] * 3,
], ids=["nothing", "clocks", "commands", "escapes", "a job and others"])
def test_lists_of_runs(ranks, limited, facts):  # noqa: F811
    folder = ranks(*facts)
    for i, path in enumerate(sorted(folder.glob("*.assay"))):
        db = sqlite3.connect(path)
        db.execute("update manifest set value = ? where key = 'cwd'", (str(i),))
        db.commit()
        db.close()
    read_all(limited, folder)
    for words in ("report --format csv", "report --format markdown", "report --sort wasted"):
        done = fine(limited(*words.split(), folder))
        assert is_quiet(done.stdout.decode()) and is_quiet(done.stderr.decode())
