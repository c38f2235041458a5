"""Job records and their folder in the hands of somebody else: read or refused with words, in bounded time, and nothing is written."""
import json
import os
import shutil
import sqlite3
import subprocess

import pytest

from conftest import FIXTURES, tried
from serving import Server
from test_crafted import ENDLESS, ESCAPE, is_quiet
from test_spool import journal

DATA = FIXTURES / "exposition" / "mig.prom"
COLUMNS = ("id INTEGER PRIMARY KEY, kind TEXT NOT NULL, job TEXT, user TEXT, account TEXT, partition TEXT, namespace TEXT, pod TEXT, container TEXT,"
           " gpus TEXT, n_gpus INTEGER, start_ns INTEGER NOT NULL, end_ns INTEGER NOT NULL, final INTEGER NOT NULL, gpu_s REAL, wasted_s REAL,"
           " findings INTEGER, peak_memory REAL, counters TEXT NOT NULL")
FAIR = {"id": 5, "kind": "slurm", "job": "5", "user": "u", "account": "", "partition": "", "namespace": "", "pod": "", "container": "", "gpus": "0",
        "n_gpus": 1, "start_ns": 10**18, "end_ns": 10**18 + 10**9, "final": 1, "gpu_s": 1.0, "wasted_s": 0.0, "findings": 0, "peak_memory": 1.0,
        "counters": "seen=1\nobserved=1\nreal=0.5\n"}
READERS = (["jobs"], ["jobs", "--format", "csv"], ["jobs", "--format", "jsonl"], ["job", "5"], ["job", "5", "--brief"])


@pytest.fixture
def records(tmp_path):
    """Gives a state folder with a file of records, made by statements or of rows."""

    def make(*rows, sql=None):
        folder = tmp_path / "state"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(mode=0o700)
        db = sqlite3.connect(folder / "jobs.db")
        db.executescript(sql or f"create table record({COLUMNS})")
        for row in rows:
            whole = {**FAIR, **row}
            db.execute(f"insert into record values({','.join('?' * len(whole))})", list(whole.values()))
        db.commit()
        db.close()
        return folder

    return make


def test_a_fair_record_is_listed(records, assay):
    for words in READERS:
        done = assay(*words, "--state", records({}))
        assert done.returncode == 0 and done.stderr == "", done


@pytest.mark.parametrize("ending", ["-wal", "-shm", "-journal"])
def test_nobody_waits_for_what_is_no_file_beside_them(records, assay, ending):
    state = records({})
    os.mkfifo(state / f"jobs.db{ending}")
    for words in READERS:
        tried("hostile files")
        done = assay(*words, "--state", state, timeout=20)
        assert done.returncode == 1 and "is in the way: it is not a plain file" in done.stderr, done


@pytest.mark.parametrize("sql", [
    f"create view record as {ENDLESS} select " + ", ".join(f"{v!r} as {k}" for k, v in FAIR.items()) + " from n",
    f"create table record({COLUMNS.replace('user TEXT', 'user TEXT AS (hex(zeroblob(1000000)))')})",
    "create virtual table record using fts4(" + ", ".join(FAIR) + ")",
], ids=["an endless view", "a computed column", "a virtual table"])
def test_no_plain_table(records, assay, sql):
    state = records(sql=sql)
    for words in READERS:
        tried("hostile files")
        done = assay(*words, "--state", state, timeout=20)
        assert done.returncode == 1 and "'record' is not a plain table" in done.stderr, done


@pytest.mark.parametrize("odd", [
    {"gpu_s": 1e308}, {"wasted_s": float("inf")}, {"gpu_s": -1.0}, {"n_gpus": -1}, {"n_gpus": 2**40}, {"end_ns": 2**63 - 1, "start_ns": -2**63},
    {"final": -7}, {"findings": 2**62}, {"peak_memory": -1e308}], ids=str)
def test_numbers_that_cannot_be(records, assay, odd):
    state = records({"id": 4, "job": "4"}, odd)
    for words in READERS[:3]:
        tried("hostile files")
        done = assay(*words, "--state", state)
        assert done.returncode == 0 and f"1 record of '{state}/jobs.db' cannot be true, skipping" in done.stderr, done
        assert "inf" not in done.stdout and len(done.stdout) < 1000 and "4" in done.stdout
    assert assay("job", "5", "--state", state).returncode == 2


def test_a_share_is_one_at_most(records, assay):
    state = records({"counters": "observed=1e-300\nreal=1e300\nactive_sm=1e29\n"})
    for words in READERS:
        done = assay(*words, "--state", state)
        assert done.returncode == 0 and "inf" not in done.stdout and "e+298" not in done.stdout, done
    assert '"real_util":null' in assay(*READERS[2], "--state", state).stdout


def test_names_do_nothing(records, assay):
    state = records({"job": "5", **{k: f"={ESCAPE}" for k in ("kind", "user", "account", "partition", "namespace", "pod", "container", "gpus", "counters")}})
    for words in READERS:
        tried("hostile files")
        done = assay(*words, "--state", state)
        assert done.returncode == 0 and is_quiet(done.stdout) and is_quiet(done.stderr), words
    assert ",=" not in assay("jobs", "--format", "csv", "--state", state).stdout


def test_a_text_of_megabytes(records, assay):
    done = assay("jobs", "--state", records({"counters": "x" * 3_000_000}))
    assert done.returncode == 1 and "too big" in done.stderr


def test_what_is_no_file(records, assay, tmp_path):
    for make in (os.mkfifo, lambda p: os.symlink("/dev/zero", p), os.mkdir):
        state = records()
        (state / "jobs.db").unlink()
        make(state / "jobs.db")
        done = assay("jobs", "--state", state)
        assert done.returncode == 1 and "is not a plain file" in done.stderr, done


def test_reading_writes_nothing(records, assay, tmp_path):
    """A journal that was left beside is not rolled back: it may name any file, which SQLite then removes."""
    state = records({})
    (tmp_path / "victim").write_text("mine")
    journal(state / "jobs.db", tmp_path / "victim")
    before = (state / "jobs.db").read_bytes()
    for words in READERS:
        assay(*words, "--state", state)
    assert (tmp_path / "victim").read_text() == "mine" and (state / "jobs.db").read_bytes() == before


def copy_with_log(state, folder):
    """A copy of a folder whose last record is still in the log, as of a server that was killed."""
    live = sqlite3.connect(state / "jobs.db")
    live.executescript("pragma journal_mode=wal; pragma wal_autocheckpoint=0; update record set job = '7', id = 7 where id = 5")
    folder.mkdir(mode=0o755)
    for name in ("jobs.db", "jobs.db-wal"):
        shutil.copy(state / name, folder / name)
        (folder / name).chmod(0o644)
    live.close()
    assert (folder / "jobs.db-wal").stat().st_size > 0
    return folder


@pytest.mark.parametrize("has_log", [False, True], ids=["closed", "killed"])
def test_reading_leaves_nothing_in_the_folder(records, assay, program, tmp_path, has_log):
    """A copy is read whole, its log included, also where nothing can be written."""
    state = records({})
    folder = copy_with_log(state, tmp_path / "copy") if has_log else state
    if not has_log:
        with sqlite3.connect(state / "jobs.db") as db:
            db.execute("pragma journal_mode=wal")
        db.close()
    before = {p.name: p.read_bytes() for p in folder.iterdir()}
    job = "7" if has_log else "5"
    done = assay("jobs", "--state", folder, "--format", "jsonl")
    assert done.returncode == 0 and [json.loads(line)["job"] for line in done.stdout.splitlines()] == [job], done
    assert {p.name: p.read_bytes() for p in folder.iterdir()} == before
    if os.geteuid() != 0:
        return
    for path in (*tmp_path.parents, tmp_path):
        if path.stat().st_uid == os.geteuid() and path != path.parent and str(path) != "/tmp":
            path.chmod(0o755)
    folder.chmod(0o555)
    (folder / "jobs.db").chmod(0o444)
    reachable = shutil.copy(program, tmp_path / "assay")
    done = subprocess.run([reachable, "jobs", "--state", folder, "--format", "jsonl"], user=65534, group=65534, extra_groups=[], env={"HOME": "/"},
                          capture_output=True, text=True, timeout=30, check=False)
    assert done.returncode == 0 and [json.loads(line)["job"] for line in done.stdout.splitlines()] == [job], done


def test_the_server_follows_no_link(program, tmp_path):
    """It starts without records, and leaves the file alone."""
    state, victim = tmp_path / "state", tmp_path / "victim.db"
    state.mkdir(mode=0o700)
    sqlite3.connect(victim).executescript("create table mine(x)").connection.close()
    before = victim.read_bytes()
    (state / "jobs.db").symlink_to(victim)
    with Server(program, tmp_path, DATA, "--state", state) as s:
        s.ready()
        s.wait(lambda: "no job records" in s.text())
    assert victim.read_bytes() == before


def test_a_view_in_place_of_the_servers_table(program, tmp_path, records):
    state = records(sql=f"create view record as {ENDLESS} select i as id from n")
    with Server(program, tmp_path, DATA, "--state", state) as s:
        s.ready()
        s.wait(lambda: "is not a plain table" in s.text())


def test_links_in_the_mapping_folder(program, tmp_path):
    """Users may write it, and the server may read what they may not."""
    folder, secret = tmp_path / "map", tmp_path / "shadow"
    folder.mkdir()
    secret.write_text("root:$6$secret\n")
    (folder / "0").symlink_to(secret)
    (folder / "1").write_text("4711\n")
    with Server(program, tmp_path, DATA, "--hpc-job-mapping-dir", folder) as s:
        s.ready()
        s.wait(lambda: 'job="4711"' in s.metrics())
        assert "secret" not in s.metrics()


def test_a_web_configuration_that_others_may_write(assay, tmp_path):
    web = tmp_path / "web.yml"
    web.write_text("basic_auth_users:\n")
    for mode in (0o666, 0o620):
        web.chmod(mode)
        done = assay("serve", DATA, "--check-config", "--web-config-file", web)
        assert done.returncode == 2 and "others may write it" in done.stderr
    web.chmod(0o644)
    assert assay("serve", DATA, "--check-config", "--web-config-file", web).returncode == 0


@pytest.mark.skipif(os.geteuid() != 0, reason="takes root")
@pytest.mark.parametrize("owner, mode", [(65534, 0o700), (0, 0o777)])
def test_root_keeps_nothing_in_a_folder_of_others(program, tmp_path, owner, mode):
    state = tmp_path / "state"
    state.mkdir()
    state.chmod(mode)
    os.chown(state, owner, -1)
    with Server(program, tmp_path, DATA, "--state", state) as s:
        s.ready()
        s.wait(lambda: "counters start at 0 and will not be kept" in s.text())
    assert not list(state.iterdir())
