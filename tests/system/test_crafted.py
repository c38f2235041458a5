"""Sessions made to harm: each is read or refused with words, in bounded time and memory, and nothing in it reaches the terminal."""
import json
import os
import resource
import shutil
import sqlite3
import subprocess
import time

import pytest
from conftest import FIXTURES, ROOT, clean_env, tried

BASE = FIXTURES.parent / "fuzz" / "corpus" / "session"
ESCAPE = "\033[2J\033]0;owned\a\u009b31m"


@pytest.fixture
def craft(tmp_path):
    """Gives a copy of a small session with statements run on it."""

    def make(*statements, base="small.assay"):
        path = tmp_path / "crafted.assay"
        shutil.copy(BASE / base, path)
        path.chmod(0o600)
        db = sqlite3.connect(path)
        db.execute("pragma writable_schema=on")
        for s in statements:
            if isinstance(s, tuple):
                db.executemany(*s)
            else:
                db.executescript(s)
        db.commit()
        db.close()
        return path

    return make


@pytest.fixture
def limited(program, tmp_path):
    """Runs assay with 1 GiB of memory; a sanitizer reserves more than that."""

    def run(*args, timeout=60):
        def limit():
            if not os.environ.get("SANITIZED"):
                resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))
        return subprocess.run([program, *map(str, args)], env=clean_env(tmp_path), preexec_fn=limit, capture_output=True, timeout=timeout, check=False)

    return run


def readers(path, out):
    return [["report", path], ["report", path, "--format", "json"], ["report", path, "--format", "html"], ["report", path, "--format", "resource-summary"],
            ["plot", path, "-o", out / "plot.svg", "--force"], ["export", "--source", path], ["once", "--source", path], ["devices", "--source", path]]


def fine(done):
    """Ended by itself, with words where it failed."""
    tried("hostile files")
    assert done.returncode in (0, 1, 2, 3), done
    assert done.returncode == 0 or done.stderr.startswith(b"assay: "), done
    assert b"out of memory" not in done.stderr, done
    return done


ODD = [
    ("update entity set id = 4294967295 where id = (select min(id) from entity); update block set entity = 4294967295 where entity = (select min(entity) from block)",
     "the largest id of 32 bits"),
    ("update entity set id = id + 100000000; update block set entity = entity + 100000000", "an id that would take gigabytes"),
    ("update entity set id = -id - 1; update block set entity = -entity - 1", "a negative id"),
    ("update series set step = 1e308, scale = 1e-308", "values that become infinite"),
    ("update series set step = 9e999", "an infinite step"),
    ("update block set base = -9223372036854775807 - 1", "the smallest number"),
    ("update block set base = 9223372036854775807, width = 7", "the largest number"),
    ("update tick set wall = 9223372036854775807 - id, skew = -9223372036854775807", "times beyond all years"),
    ("update tick set id = 9223372036854775807 - id", "numbers of ticks that are far away"),
    ("update tick set window = -9223372036854775807", "a window of minus infinity"),
    ("update manifest set value = '-9223372036854775808' where key = 'start_ns'", "a start long before the world"),
    ("insert or replace into manifest values('stop_ns', '9223372036854775807'), ('ticks_asked', 1e300), ('ticks_late', 'nan'), ('command_seconds', 'inf'), ('exit_status', '1e999'),"
     " ('interval_s', '-1e308')", "facts that are no numbers"),
    ("insert into mark(wall_ns, mono_ns, host, pid, type, name, seconds, value) values(9223372036854775807, 0, 'h', 1, 'phase', 'p', 1e300, 0),"
     " (-9223372036854775808, 0, 'h', 1, 'phase', 'q', 1e300, 0), (0, 0, 'h', 1, 'begin', 'r', 0, 0), (9223372036854775807, 0, 'h', 1, 'end', 'r', 0, 0),"
     " (1, 0, 'h', 1, 'metric', 'm', 0, 9e999), (1, 0, 'h', 1, 'metric', 'm', 0, -1e308), (1, 0, 'h', 1, 'metric', 'm', 0, -1e308)", "phases that overflow"),
    ("update block set width = 200", "a width that there is not"),
]


@pytest.mark.parametrize("statement, why", ODD, ids=[why for _, why in ODD])
@pytest.mark.parametrize("base", ["small.assay", "host.assay"])
def test_odd_numbers(craft, limited, tmp_path, statement, why, base):
    path = craft(statement, base=base)
    for words in readers(path, tmp_path):
        done = fine(limited(*words))
        if "json" in words and done.returncode == 0:
            json.loads(done.stdout)


@pytest.mark.skipif(bool(os.environ.get("SANITIZED")), reason="a sanitizer takes memory of its own")
def test_json_that_is_small_only_as_text(craft, program, tmp_path):
    """An object of two letters takes a hundred times as much once it is read: such a text is not."""
    path = craft("insert or replace into manifest values('command', '[' || replace(hex(zeroblob(7000000)), '00', '{},') || '1]')")
    with subprocess.Popen([program, "report", path], env=clean_env(tmp_path), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as p:
        _, status, usage = os.wait4(p.pid, 0)
        p.returncode = os.waitstatus_to_exitcode(status)
    assert p.returncode == 0 and usage.ru_maxrss < 400 << 10


ENDLESS = "with recursive n(i) as (select 0 union all select i + 1 from n)"


@pytest.mark.parametrize("table, columns", [
    ("tick", "i as id, i as wall, 0 as skew, 0 as window, 0 as stale"),
    ("entity", "i as id, 0 as kind, 'x' as label, 0 as idx, 0 as gi, 0 as ci, 0 as flat"),
    ("mark", "i as id, i as wall_ns, 0 as mono_ns, '' as host, 1 as pid, 'event' as type, 'x' as name, 0 as seconds, 0 as value, '' as data, '' as spool"),
    ("block", "0 as block, 1 as entity, 0 as series, 0 as width, 1 as base, 0 as state, null as data"),
    ("manifest", "'k' as key, 'v' as value"),
    ("series", "i as id, 'x' as name, '' as unit, 1.0 as step, 1.0 as scale"),
])
def test_a_view_in_place_of_a_table(craft, limited, tmp_path, table, columns):
    path = craft(f"drop table {table}; create view {table} as {ENDLESS} select {columns} from n")
    for words in readers(path, tmp_path)[:5]:
        started = time.monotonic()
        done = limited(*words)
        assert done.returncode == 1 and f"its '{table}' is not a plain table".encode() in done.stderr
        assert time.monotonic() - started < 20


def test_other_things_that_are_no_plain_tables(craft, limited):
    path = craft("alter table mark add column slow as (hex(zeroblob(wall_ns % 100000000)))")
    assert b"its 'mark' is not a plain table" in limited("report", path).stderr
    path = craft("drop table mark; create virtual table mark using fts4(wall_ns, mono_ns)")
    assert b"its 'mark' is not a plain table" in limited("report", path).stderr


def test_triggers_do_not_run(craft, assay):
    path = craft("create table victim(x); insert into victim values(1); create trigger t after insert on mark begin delete from victim; end")
    assert assay("mark", "event", "x", "--session", path).returncode == 0
    db = sqlite3.connect(path)
    assert db.execute("select count(*) from victim").fetchone() == (1,)
    db.close()


@pytest.mark.parametrize("hole", [0, 1 << 40], ids=["as it is", "with a hole of a terabyte"])
def test_a_file_that_takes_longer_than_its_size_is_given_up(craft, limited, hole):
    """Without its index each block looks through all values. A hole buys no time."""
    rows = [(1 << 40, i) for i in range(150000)]
    path = craft("drop table block; create table block(block, entity, series, width, base, state, data)",
                 ("insert into block values(?,1,?,0,1,0,null)", rows),
                 "with recursive n(i) as (select 1000 union all select i + 1 from n where i < 40000) insert into tick select i * 64, i, 0, 1, 0 from n")
    os.truncate(path, path.stat().st_size + hole)
    done = limited("report", path, timeout=300)
    assert done.returncode == 1 and b"takes longer to read than a session of its size" in done.stderr


@pytest.mark.parametrize("table, columns", [("process_sample", "tick, process, gone, gpu_memory, gpu_util, gpu_band, gpu_encoder, gpu_decoder, cpu, memory"),
                                            ("level_note", "tick, level, name, why")])
def test_rows_that_are_not_in_order_are_not_sorted(craft, limited, tmp_path, table, columns):
    """What a file names often is not copied as often: 20,000 samples of a process with a command of 1 MB."""
    fill = {"process_sample": "insert into process(id, pid, command) values(77, 1, hex(zeroblob(500000)));"
                              "with recursive n(i) as (select 20000 union all select i - 1 from n where i > 1) insert into process_sample select i, 77, 0, 1, 1, 1, 1, 1, 1, 1 from n",
            "level_note": "with recursive n(i) as (select 20000 union all select i - 1 from n where i > 1) insert into level_note select i, 1, 'x', hex(zeroblob(100)) from n"}[table]
    path = craft(f"drop table {table}; create table {table}({columns}); {fill}", base="host.assay")
    for words in readers(path, tmp_path)[:3]:
        fine(limited(*words))


def test_a_process_whose_first_tick_was_lost_is_there_from_the_next(tmp_path, assay):
    path = tmp_path / "lost.assay"
    shutil.copy(ROOT / "docs" / "example" / "tour.assay", path)
    path.chmod(0o600)
    db = sqlite3.connect(path)
    first, pid = db.execute("select min(s.tick), p.pid from process_sample s join process p on p.id = s.process").fetchone()
    at, = db.execute("select wall / 1e6 from tick where id = ?", (first + 3,)).fetchone()
    db.execute("delete from tick where id = ?", (first,))
    db.commit()
    db.close()
    done = assay("once", path, "--at", f"{at:.3f}")
    assert str(pid) in str(done.stdout), done


LONG = "x" * 3000000
MANY = "with recursive n(i) as (select 1 union all select i + 1 from n where i < 100000) insert or ignore into"


@pytest.mark.parametrize("long, many, given_up", [
    ("insert into level_note values(1000000000, 1, '', ?)", f"{MANY} host_tick select i + 20000, i * 1000, 0, 1000, 2 from n", False),
    ("insert into block values(1000000000, 1, 1, 1, 1, null, ?)", f"{MANY} tick select i * 128 + 20000, i * 1000, 0, 1000, 0 from n", True),
    ("insert into process_sample values(1000000000, ?, 0, 0, 0, 0, 0, 0, 0, 0)", f"{MANY} tick select i + 20000, i * 1000, 0, 1000, 0 from n", False),
], ids=["notes", "blocks", "processes"])
def test_one_long_value_that_every_tick_meets(tmp_path, limited, long, many, given_up):
    """Each search compares with it, and reads its hundreds of pages in one step. Notes and processes are read once, in order."""
    path = tmp_path / "long.assay"
    shutil.copy(ROOT / "docs" / "example" / "tour.assay", path)
    path.chmod(0o600)
    db = sqlite3.connect(path)
    db.execute(long, (LONG,))
    db.execute(many)
    db.commit()
    db.close()
    done = fine(limited("report", path))
    assert (b"takes longer to read than a session of its size" in done.stderr) == given_up, done.stderr


def test_gpus_that_are_never_there_cost_nothing(craft, limited):
    """Each of 20,000 blocks had a place for each of 4,096 GPUs."""
    path = craft("with recursive n(i) as (select 1 union all select i + 1 from n where i < 4096)"
                 " insert into entity(id, kind, label, idx) select i + 1000, 0, 'g' || i, i from n;"
                 "with recursive n(i) as (select 1 union all select i + 1 from n where i < 20000) insert into tick select i * 128 + 1000, i, 0, 1, 0 from n")
    started = resource.getrusage(resource.RUSAGE_CHILDREN)
    fine(limited("report", path, "--format", "json"))
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert ended.ru_utime + ended.ru_stime - started.ru_utime - started.ru_stime < 30


@pytest.mark.parametrize("pids", ["same", "of a shell"])
def test_many_nested_phases_take_time_in_proportion(craft, limited, tmp_path, pids):
    def session(n):
        begin = [(1700000000000000000 + i, f"p{i % 50}", i if pids != "same" else 7, "begin") for i in range(n)]
        end = [(1700000001000000000 + i, f"p{(n - 1 - i) % 50}", n + i if pids != "same" else 7, "end") for i in range(n)]
        return craft(("insert into mark(wall_ns, mono_ns, host, name, pid, type) values(?1, 0, 'h', ?2, ?3, ?4)", begin + end))

    path = session(100000)
    started = time.monotonic()
    for words in (["report", path], ["report", path, "--format", "json"], ["plot", path, "-o", tmp_path / "p.svg"]):
        assert limited(*words, timeout=100).returncode == 0
    assert time.monotonic() - started < 60


def is_quiet(text):
    """Nothing in it does something to a terminal."""
    return not any(ord(c) < 32 and c != "\n" or 0x7f <= ord(c) < 0xa0 for c in text)


def test_escape_sequences_do_not_reach_the_terminal(craft, assay, tmp_path):
    path = craft(("update entity set label = label || ?, model = ?, uuid = ?, hostname = ?, pci = ?, driver = ?", [(ESCAPE,) * 6]),
                 ("insert or replace into manifest values(?, ?)", [(k, ESCAPE) for k in ("host", "user", "provenance", "os", "slurm_job", "gpu_driver", "backend")]),
                 ("insert or replace into manifest values('command', ?)", [(json.dumps([ESCAPE, "x"]),)]),
                 ("insert into mark(wall_ns, mono_ns, host, pid, type, name, seconds, value, data) select (select max(wall) * 1000 from tick)"
                  " + (select value from manifest where key = 'start_ns'), 0, ?1, 1, column1, ?1, 0.001, 1, ?1 from (values('phase'), ('event'), ('metric'))", [(ESCAPE,)]))
    named = path.rename(tmp_path / f"{ESCAPE}.assay")
    for words in readers(named, tmp_path):
        if "html" in words or "plot" in words:
            continue
        done = assay(*words)
        assert done.returncode == 0, done.stderr
        assert is_quiet(done.stdout) and is_quiet(done.stderr), words
    for words in (["report", named, "--phase", ESCAPE], ["report", named, "--phase", f"no{ESCAPE}"], ["report", tmp_path / f"none{ESCAPE}"], ["once", "--source", named, "--gpus", ESCAPE],
                  ["mark", "event", ESCAPE, "--session", tmp_path / ESCAPE], ["record", "-o", tmp_path / ESCAPE / "x"], ["convert", named, tmp_path / f"{ESCAPE}.bad"]):
        done = assay(*words)
        assert is_quiet(done.stdout) and is_quiet(done.stderr), words


@pytest.mark.parametrize("first", ["=", "+", "-", "@"])
def test_names_are_no_formulas_in_csv(craft, assay, tmp_path, first):
    evil = f"{first}cmd|' /C calc'!A0"
    path = craft(("update entity set model = ?, hostname = ?, pci = ?", [(evil,) * 3]))
    text = assay("export", "full", "--source", path).stdout
    assert f"'{evil}" in text
    cells = [c for line in text.splitlines()[1:] for c in line.split(",")]
    assert not any(c.startswith(first) and not c[1:2].isdigit() for c in cells)
    # What was put before it is taken off again.
    (tmp_path / "back.csv").write_text(text)
    assert assay("export", "full", "--source", tmp_path / "back.csv").stdout.count(f"'{evil}") == text.count(f"'{evil}")
    assert evil in json.dumps([json.loads(x) for x in assay("export", "--format", "jsonl", "--source", tmp_path / "back.csv").stdout.splitlines()])


def test_a_source_that_names_new_gpus_for_ever(assay, tmp_path):
    """A thousand new ones a scrape: what is beyond the limits is left out, with words, and the recording goes on."""
    capture = tmp_path / "new.csv"
    lines = ["timestamp,gpu_id,gpu_util_pct"]
    lines += [f"{1700000000 + tick},GPU-{tick}-{i},5" for tick in range(18) for i in range(1000)]
    lines += [f"{1700000100 + tick},GPU-0-{i},6" for tick in range(3) for i in range(10)]
    capture.write_text("\n".join(lines) + "\n")
    done = assay("record", "--source", capture, "-o", tmp_path / "x.assay", timeout=120)
    assert done.returncode == 0, done.stderr
    assert "more than 16384 GPUs; later ones are left out" in done.stderr
    assert "more than 4096 GPUs; later ones are not in" in done.stderr
    assert "out of memory" not in done.stderr
    db = sqlite3.connect(tmp_path / "x.assay")
    assert db.execute("select count(*) from tick").fetchone() == (21,)
    assert db.execute("select count(*) from entity").fetchone() == (4096,)
    db.close()
    assert assay("report", tmp_path / "x.assay", "--format", "json", timeout=120).returncode == 0


@pytest.mark.parametrize("order", [1, -1], ids=["with the host first", "without it first"])
@pytest.mark.parametrize("uuid", [',UUID="GPU-1"', ""], ids=["by UUID", "by number"])
def test_a_series_without_hostname_is_of_the_same_gpu(assay, tmp_path, order, uuid):
    lines = [f'DCGM_FI_DEV_GPU_UTIL{{gpu="0"{uuid},Hostname="node1"}} 50', f'DCGM_FI_DEV_POWER_USAGE{{gpu="0"{uuid}}} 300'][::order]
    (tmp_path / "scrape.prom").write_text("\n".join([*lines, f'DCGM_FI_DEV_GPU_TEMP{{gpu="0"{uuid},Hostname="node1"}} 40', ""]))
    rows = [json.loads(x) for x in assay("once", "--json", "--source", tmp_path / "scrape.prom").stdout.splitlines() if x.startswith('{"schema"')]
    text = assay("export", "gpu_id,gpu_util_pct,power_w,gpu_temp_c", "--source", tmp_path / "scrape.prom").stdout
    assert len(text.splitlines()) == 2, text
    assert [float(c) for c in text.splitlines()[1].split(",")] == [0, 50, 300, 40], (text, rows)


def test_two_hosts_are_two_gpus(assay, tmp_path):
    """A series without a host that fits both is of neither."""
    (tmp_path / "scrape.prom").write_text('DCGM_FI_DEV_GPU_UTIL{gpu="0",Hostname="a"} 50\nDCGM_FI_DEV_GPU_UTIL{gpu="0",Hostname="b"} 60\nDCGM_FI_DEV_POWER_USAGE{gpu="0"} 300\n')
    text = assay("export", "gpu_util_pct,power_w", "--source", tmp_path / "scrape.prom").stdout
    assert sorted(text.splitlines()[1:]) == [",300.0", "50.0,", "60.0,"] or len(text.splitlines()) == 4, text
