"""Recordings whose stacks were made to harm: each is read in bounded time, and nothing in it reaches a terminal, a page or a spreadsheet."""
import json
import os
import resource
import shutil
import sqlite3
import subprocess
import sys

import pytest
from conftest import FIXTURES, ROOT, clean_env, tried
from stack_rows import Kinds

sys.path.insert(0, str(ROOT / "tests"))
from attack import TERMINAL  # noqa: E402  pylint: disable=wrong-import-position

RECORDING = ROOT / "tests" / "truth" / "single_thread.assay"
TABLES = FIXTURES.parent / "fuzz" / "corpus" / "session" / "stacks.assay"
ESCAPE = "\033[2J\033]0;owned\a\u009b31m\u202e</script><script>alert(1)</script>\n=cmd|'/c'!A1"
NODES = 300
WINDOWS = 20


def packed(kinds, thread, stack):
    """A row of a window: a thread that runs and holds the interpreter's lock."""
    return kinds.row(thread, stack, call=3, flags=5, looks=200, ms=1000)


def fill(db, name):
    """Twenty threads of the process that held the GPU, in stacks of 299 frames whose names are name's."""
    pid = db.execute("select pid from process where child = 0").fetchone()[0]
    db.executemany("insert into stack_text values(?, ?)", [(i, name(i)) for i in range(3, 50)])
    db.executemany("insert into stack_frame values(?, ?, 4, 1, ?, 0)", [(i, 3 + i % 40, i) for i in range(3, NODES)])
    db.executemany("insert into stack_node values(?, ?, ?, 3, 3)", [(i, i - 1, 3 + i % (NODES - 3)) for i in range(1, NODES)])
    db.execute("insert into stack_process values(0, ?, 1, 5, ?, 'readable', ?, ?, 1, 0)", (pid, name(1), name(2), name(3)))
    db.executemany("insert into stack_thread values(?, ?, 5, ?, ?, ?)", [(i, pid, 100000 + i, 3 + i % 40, i == 0) for i in range(20)])
    kinds = Kinds(db)
    window = b"".join(packed(kinds, k % 20, 1 + k % (NODES - 1)) for k in range(300))
    db.executemany("insert into stack_window values(?, ?)", [(second, window) for second in range(WINDOWS)])


@pytest.fixture
def craft(tmp_path):
    """Gives a copy of a real recording with stacks, on which statements were run."""

    def make(statement="", name="x{}.py".format, filler=fill):
        path = tmp_path / "crafted.assay"
        shutil.copy(RECORDING, path)
        path.chmod(0o600)
        db = sqlite3.connect(path)
        for (sql,) in sqlite3.connect(TABLES).execute("select sql from sqlite_master where name like 'stack%' order by type").fetchall():
            db.execute(sql)
        db.execute("pragma user_version = 3")
        filler(db, name)
        db.executescript(statement)
        db.commit()
        db.close()
        return path

    return make


@pytest.fixture
def limited(program, tmp_path):
    """Runs assay with some seconds of a CPU and 1 GiB; a sanitizer takes more."""

    def run(*args):
        def limit():
            if not os.environ.get("SANITIZED"):
                resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))
                resource.setrlimit(resource.RLIMIT_CPU, (4, 4))
        return subprocess.run([program, *map(str, args)], env=clean_env(tmp_path), preexec_fn=limit, capture_output=True, timeout=120, check=False)

    return run


def readers(path):
    return [["report", path], ["report", path, "--format", "json"], ["report", path, "--format", "html"], ["diff", path, path], ["stacks", path],
            ["stacks", path, "--all"], ["stacks", path, "--all", "--format", "json"], ["stacks", path, "--at", "5"]]


def read_all(limited, path):
    for words in readers(path):
        tried("hostile files")
        done = limited(*words)
        assert done.returncode in (0, 1, 3), (words, done)
        assert done.returncode == 0 or done.stdout or done.stderr.startswith(b"assay: "), (words, done)
        assert not set((done.stdout + done.stderr).decode(errors="surrogateescape")) & TERMINAL, words
        assert "html" not in words or b"<script>alert" not in done.stdout, words
        if "json" in words and done.returncode == 0:
            json.loads(done.stdout)


NAMES = {
    "that do something to a terminal or a page": lambda i: ESCAPE,
    "of 100,000 letters": lambda i: "\u00e9" * 100_000 + str(i),
    "whose letters are cut in two": lambda i: "\u20ac" * 170 + "x" * (i % 4) + "\U0001f600" * 50 + str(i),
    "that are no text": lambda i: b"\0\033[\xff\xc3(",
}


@pytest.mark.parametrize("kind", NAMES)
def test_names(craft, limited, kind):
    read_all(limited, craft(name=NAMES[kind]))


ODD = [
    ("update stack_node set parent = id", "each its own caller"),
    ("update stack_node set parent = id + 1", "callers in a circle"),
    ("update stack_node set parent = 9223372036854775807, frame = -1", "callers and frames beyond the tables"),
    ("update stack_node set parent = -9223372036854775807", "callers below them"),
    ("update stack_frame set line = -5, first_line = 9e300, whose = -7, file = -1, function = 1e18", "lines that cannot be"),
    ("update stack_text set id = 9223372036854775807 - id; update stack_frame set id = -id; update stack_thread set id = id + 9223372036854775000", "ids that no array has room for"),
    ("update stack_process set samples = -9223372036854775807, torn = 9223372036854775807, pid = -1, ppid = pid, start_ticks = -1, access = 'nonsense'", "counts below zero"),
    ("update stack_process set ppid = pid", "a process that is its own parent"),
    ("update stack_window set id = id * 500000000000000000 - 9000000000000000000", "seconds beyond all years"),
    ("update stack_window set data = zeroblob(5)", "half a row"),
    ("update stack_window set data = 'abcdefghijklmnopqrstuvwxyz' where id < 10; update stack_window set data = 5 where id > 15", "windows that are no bytes"),
    ("with recursive n(i) as (select 20 union all select i + 1 from n where i < 300000) insert into stack_window select i, zeroblob(6) from n", "300,000 seconds"),
    ("drop table stack_text; create table stack_text(id, text); insert into stack_text select id, 'x' from stack_frame", "a table without its key"),
    ("update stack_kind set thread = -1, stack = 1e18, call = id * 1000000, flags = -5", "kinds of nobody"),
    ("update stack_kind set id = id * 100000", "kinds beyond what a row can name"),
    ("drop table stack_node", "no tree"),
]


@pytest.mark.parametrize("statement, why", ODD, ids=[why for _, why in ODD])
def test_odd_numbers(craft, limited, statement, why):
    path = craft(statement)
    read_all(limited, path)
    if why != "no tree":
        with sqlite3.connect(path) as db:  # the views end, too
            assert db.execute("select count(*) from stacks").fetchone()[0] >= 0
            assert db.execute("select count(*) from stack_frames").fetchone()[0] <= NODES * NODES


def fill_with_a_chain(db, name):
    """1,024 processes, each the parent of the next, 65,535 threads, and windows that are full of them."""
    db.executemany("insert into stack_text values(?, ?)", [(i, name(i)) for i in range(3, 2000)])
    db.executemany("insert into stack_frame values(?, ?, 4, 1, ?, 0)", [(i, 3 + i % 1900, i) for i in range(3, 60000)])
    db.executemany("insert into stack_node values(?, 0, ?, 3, 3)", [(i, 3 + i % 50000) for i in range(1, 60000)])
    db.executemany("insert into stack_process values(?, ?, ?, 5, 'CPython 3.11.7', 'readable', null, 'x', 1, 0)", [(i, 100000 + i, 100001 + i) for i in range(1024)])
    db.executemany("insert into stack_thread values(?, ?, 5, ?, 3, 1)", [(i, 100000 + i % 1000, 100000 + i) for i in range(65535)])
    kinds = Kinds(db)
    window = b"".join(packed(kinds, k % 65535, 1 + k % 59999) for k in range(65536))
    db.executemany("insert into stack_window values(?, ?)", [(second, window) for second in range(WINDOWS)])


@pytest.mark.parametrize("words", [["report"], ["stacks"]], ids=" ".join)
def test_a_chain_of_processes_takes_time_in_proportion(craft, limited, words):
    """Who a process is was asked of its 64 ancestors for each row."""
    done = limited(*words, craft(filler=fill_with_a_chain))
    assert done.returncode == 0, done.stderr
