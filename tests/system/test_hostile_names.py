"""Names of somebody else's in every text that people read: they do nothing to a terminal and begin no line of their own."""
import json
import shutil
import sqlite3

import pytest

from conftest import ROOT, tried

SEEDS = ROOT / "tests" / "fuzz" / "corpus" / "session"
# A cursor and a title, the one-character CSI, a turn of writing, a line of its own, a bell, a byte that is no letter.
EVIL = "N\033[2J\033]0;owned\a\u009b31m\u202e\nFORGED\r\t\b\x7f"
FREE = {
    "entity": ("label", "model", "uuid", "pci", "serial", "driver", "device", "numa_node", "mig_profile", "hostname", "job", "container", "namespace", "pod"),
    "mark": ("host", "name", "data"),
    "host_gpu": ("label",),
    "level_note": ("name", "why"),
    "process": ("gpu", "user", "grp", "slurm_job", "container", "command"),
}
TEXT_FACTS = ("host", "user", "provenance", "os", "slurm_job", "gpu_driver", "backend", "job", "launcher", "command", "kernel", "cpu_model", "version")


def assert_harmless(done, words):
    """Nothing but letters and line ends, and no line that a name began: in a page a line end is a blank."""
    for stream in (done.stdout, done.stderr):
        odd = [c for c in stream if (c < " " and c != "\n") or 0x7f <= ord(c) < 0xa0 or "\u202a" <= c <= "\u202e" or "\u2066" <= c <= "\u2069" or c == "\ufffd"]
        assert not odd, (words, odd, stream)
        assert "html" in words or not any(line.lstrip().startswith("FORGED") for line in stream.splitlines()), (words, stream)


def poison(seed, path, rank=None):
    """A copy of a session in which every free text is hostile."""
    shutil.copy(SEEDS / seed, path)
    path.chmod(0o600)
    db = sqlite3.connect(path)
    for table, columns in FREE.items():
        if not db.execute("select 1 from sqlite_master where name = ?", (table,)).fetchone():
            continue
        for column in columns:
            db.execute(f"update {table} set {column} = coalesce({column}, '') || ?", (EVIL,))
    facts = {key: EVIL for key in TEXT_FACTS}
    facts["command"] = json.dumps([EVIL, EVIL])
    if rank is not None:
        facts.update({"rank": rank, "world": 2, "local_rank": rank, "job": f"7{EVIL}"})
    db.executemany("insert or replace into manifest values(?, ?)", facts.items())
    start = "(select max(wall) * 1000 from tick) + (select value from manifest where key = 'start_ns')"
    for kind in ("phase", "event", "metric"):
        db.execute(f"insert into mark(wall_ns, mono_ns, host, pid, type, name, seconds, value, data) values({start}, 0, ?1, 1, '{kind}', ?1, 0.001, 1, ?1)", (EVIL,))
    db.commit()
    db.close()
    return path


@pytest.fixture
def hostile(tmp_path):
    """A folder with hostile recordings, whose own names are hostile too."""
    folder = tmp_path / f"d{EVIL.replace('/', '')}"
    folder.mkdir()
    job = folder / "job"
    job.mkdir(mode=0o700)
    return {"one": poison("small.assay", folder / f"{EVIL}.assay"), "host": poison("host.assay", folder / f"h{EVIL}.assay"), "job": job,
            "ranks": [poison("small.assay", job / f"rank-{i}{EVIL}.assay", i) for i in range(2)]}


def surfaces(files, out):
    """Every command that writes text for people about a recording."""
    one, host, job, ranks = files["one"], files["host"], files["job"], files["ranks"]
    for path in (one, host, job):
        yield from (["report", path], ["report", path, "--all"], ["report", path, "--format", "html"], ["report", path, "--format", "json"])
        yield from (["once", "--source", path], ["once", "--source", path, "--show-all"], ["once", "--source", path, "--json"], ["devices", "--source", path])
        yield ["export", "--source", path]
    yield ["report", *ranks]
    for path in (one, host):
        yield from (["report", path, "--each"], ["report", path, "--format", "resource-summary"], ["once", "--source", path, "--host"], ["report", path, "--phase", EVIL],
                    ["plot", path, "-o", out / "p.svg", "--force"], ["convert", path, out / "c.json", "--force"], ["top", "--source", path])
    for form in ("text", "markdown", "junit", "json", "html"):
        yield from (["diff", one, ranks[0], "--format", form], ["diff", job, one, "--format", form], ["diff", one, host, "--format", form])
    yield from (["report", out / EVIL], ["report", one, "--gpus", EVIL], ["once", "--source", one, "--gpus", EVIL], ["baseline", "add", "x", one, "--baselines", out / f"b{EVIL}"],
                ["baseline", "list", "--baselines", out / f"b{EVIL}"], ["diff", "--baseline", "x", one, "--baselines", out / f"b{EVIL}"], ["mark", "event", EVIL, "--session", out / EVIL],
                ["record", "-o", out / EVIL / "x"], ["export", "--source", out / EVIL], [EVIL], ["report", f"--{EVIL}"], ["job", EVIL, "--state", out / EVIL], ["doctor", "--source", out / EVIL])


def test_no_surface_shows_them(assay, hostile, tmp_path):
    for words in surfaces(hostile, tmp_path):
        tried("hostile files")
        assert_harmless(assay(*words), words)
