"""A machine that loses power keeps what was synced and, of the rest, any prefix, or sectors of rubbish.

The files of a recorder that was killed are cut and spoiled at many places, as after a power failure, and
must open each time with every tick that lies before the damage."""
import random
import shutil
import sqlite3
import subprocess
import time

import pytest

from conftest import ROOT


def record_and_kill(program, folder):
    """A session whose recorder died while its log held several commits."""
    path = folder / "run.assay"
    p = subprocess.Popen([program, "record", "-o", path, "--source", ROOT / "data" / "h200-tour.csv", "--speed", "5", "-q"])
    wal = folder / "run.assay-wal"
    try:
        end = time.monotonic() + 20
        while time.monotonic() < end and not (wal.exists() and wal.stat().st_size > 50_000):
            time.sleep(0.02)
        time.sleep(1.8)  # three commits more
    finally:
        p.kill()
        p.wait()
    return path, wal


def ticks(folder, path, wal, log):
    """How many ticks are there when the log has become this; the file must be whole."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    copy = folder / "copy.assay"
    shutil.copy(path, copy)
    (folder / "copy.assay-wal").write_bytes(log)
    db = sqlite3.connect(copy)
    try:
        assert db.execute("pragma integrity_check").fetchone() == ("ok",)
        if not db.execute("select count(*) from sqlite_master where name = 'ticks'").fetchone()[0]:
            return 0
        return db.execute("select count(*) from ticks").fetchone()[0]
    finally:
        db.close()


@pytest.fixture(scope="module")
def killed(program, tmp_path_factory):
    return record_and_kill(program, tmp_path_factory.mktemp("killed"))


def test_a_log_cut_anywhere_opens(killed, tmp_path):
    path, wal = killed
    log, rng = wal.read_bytes(), random.Random(7)
    cuts = sorted([0, len(log)] + [rng.randrange(len(log)) for _ in range(60)])
    counts = [ticks(tmp_path / "cut", path, wal, log[:cut]) for cut in cuts]
    assert counts == sorted(counts), "a longer log never holds less"
    assert counts[-1] > 10


def test_a_log_with_rubbish_opens(killed, tmp_path):
    path, wal = killed
    log, rng = wal.read_bytes(), random.Random(8)
    for _ in range(40):
        at = rng.randrange(len(log) // 512) * 512
        spoiled = log[:at] + rng.randbytes(512) + log[at + 512:]
        assert ticks(tmp_path / "rubbish", path, wal, spoiled) >= ticks(tmp_path / "clean", path, wal, log[:at])


def test_the_program_reads_what_is_left(killed, assay, tmp_path):
    path, wal = killed
    log = wal.read_bytes()
    copy = tmp_path / "copy.assay"
    shutil.copy(path, copy)
    (tmp_path / "copy.assay-wal").write_bytes(log[: len(log) * 7 // 8 + 100])
    done = assay("report", copy, "--all")
    assert done.returncode == 0, done.stderr
    assert "H200" in done.stdout
