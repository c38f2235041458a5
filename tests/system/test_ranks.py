"""Ranks of a job: a session each in one folder, and one report of all of them."""

import json
import os
import pathlib
import random
import re
import sqlite3
import stat
import subprocess
import sys

import pytest


def clean_env(**more):
    names = ("SLURM_", "OMPI_", "PMI", "MV2_", "TORCHELASTIC", "MASTER_")
    env = {k: v for k, v in os.environ.items() if not k.startswith(names) and k not in ("RANK", "WORLD_SIZE", "LOCAL_RANK")}
    return {**env, **more}


def slurm(rank, world=4):
    return clean_env(
        SLURM_PROCID=str(rank), SLURM_LOCALID=str(rank % 2), SLURM_NODEID=str(rank // 2), SLURM_STEP_NUM_TASKS=str(world),
        SLURM_JOB_ID="4711", SLURM_STEP_ID="0")


def manifest(path):
    with sqlite3.connect(path) as db:
        return dict(db.execute("select key, value from manifest"))


def run(program, *words, env, cwd):
    return subprocess.run([program, *words], env=env, cwd=cwd, capture_output=True, text=True, timeout=60)


def test_each_rank_has_its_file(program, tmp_path):
    jobs = [
        subprocess.Popen([program, "run", "true"], env=slurm(r), cwd=tmp_path, stderr=subprocess.PIPE, text=True) for r in range(4)]
    said = [j.communicate(timeout=60)[1] for j in jobs]
    folder = tmp_path / "assay-4711.0"
    assert sorted(p.name for p in folder.glob("*.assay")) == [f"rank-{r:04d}.assay" for r in range(4)]
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    facts = manifest(folder / "rank-0003.assay")
    assert (facts["rank"], facts["local_rank"], facts["node_rank"], facts["world_size"]) == (3, 1, 1, 4)
    assert facts["launcher"] == "slurm" and facts["job_id"] == "4711.0"
    # The first rank tells where to look; the others do not repeat it.
    assert "assay report assay-4711.0" in said[0]
    assert said[1] == said[2] == said[3] == ""


def test_started_again_overwrites_nothing(program, tmp_path):
    for _ in range(2):
        assert run(program, "run", "-o", "out/", "true", env=slurm(1), cwd=tmp_path).returncode == 0
    assert sorted(p.name for p in (tmp_path / "out").glob("*.assay")) == ["rank-0001-2.assay", "rank-0001.assay"]


@pytest.mark.parametrize("how", ["open", "link"])
def test_a_folder_that_others_write_is_not_used(program, tmp_path, how):
    folder = tmp_path / "assay-4711.0"
    if how == "open":
        folder.mkdir()
        folder.chmod(0o777)
    else:
        (tmp_path / "elsewhere").mkdir()
        folder.symlink_to("elsewhere")
    env = {**slurm(0), "TMPDIR": str(tmp_path / "tmp")}
    (tmp_path / "tmp").mkdir()
    done = run(program, "run", "sh", "-c", "exit 7", env=env, cwd=tmp_path)
    assert done.returncode == 7
    assert "is no folder of yours alone" in done.stderr
    assert not list(folder.glob("*.assay"))
    assert list((tmp_path / "tmp").glob("*.assay"))


def test_without_a_launcher_nothing_changes(program, tmp_path):
    assert run(program, "run", "true", env=clean_env(), cwd=tmp_path).returncode == 0
    (path,) = tmp_path.glob("*.assay")
    assert path.name.startswith("assay-2")
    assert "rank" not in manifest(path)


# ---- afterwards: synthetic jobs with the samples of a real recording ----

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "ranks"))
import common  # noqa: E402


@pytest.fixture
def weave(program):
    path = pathlib.Path(program).parent / "tests" / "weave"
    if not path.exists():
        pytest.skip("built without tests")
    return str(path)


def small_job(n, slow=None, world=None, steps=True):
    """Ranks that compute 0.8 s of each second; the slow one has a hot GPU at two thirds of the clock."""
    base = common.Base("gemm_bf16")
    ranks = []
    for r in range(n):
        out = common.Rank(base, r, world or n, f"n{r // 2}", local_rank=r % 2)
        for t in range(1, 40):
            changes = {"sm_clock": "*0.66", "throttle_reasons": "=64"} if r == slow else {}
            out.tick(t, [(r % 2, base.busy[(7 * t + r) % len(base.busy)], {**changes, "pid": f"={100 + r}"})])
            if steps:
                out.mark(t - 1 + 0.0001 * r, "begin", "compute")
                out.mark(t - 1 + (0.95 if r == slow else 0.8), "end", "compute")
        ranks.append(out)
    return {"ranks": ranks, "seconds": 40}


def report(program, *words):
    done = subprocess.run([program, "report", *map(str, words)], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done


def test_a_folder_is_a_job(program, weave, tmp_path):
    common.write_job(small_job(4, slow=2, world=5), weave, tmp_path)
    text = report(program, tmp_path).stdout
    assert text.startswith("job 77.0: 4 ranks on 2 nodes")
    assert "1 of 5 ranks have no file here: 4" in text
    assert "rank 2 (n1, GPU 0) holds the others up by 0.15 s a step (15 % of 'compute')" in " ".join(text.split())
    assert "held down by: heat (hardware)" in " ".join(text.split())
    found = json.loads(report(program, tmp_path, "--format", "json").stdout)
    assert [(s["rank"], s["cause"], s["by"]) for s in found["stragglers"]] == [("2", "clock", "marks")]
    assert found["missing"] == [4] and found["world_size"] == 5 and len(found["ranks"]) == 4
    assert len(found["findings"]) <= 4
    page = report(program, tmp_path, "--format", "html").stdout
    assert page.count("<svg class=strip") == 4 and "://" not in page
    # Several files are the same job; two of them alone are compared as well.
    files = sorted(tmp_path.glob("*.assay"))
    assert json.loads(report(program, *files, "--format", "json").stdout)["stragglers"] == found["stragglers"]
    two = json.loads(report(program, files[1], files[2], "--format", "json").stdout)
    assert [s["rank"] for s in two["stragglers"]] == ["2"]


@pytest.mark.parametrize("reasons, expected", [("=64", {"2", "3"}), ("=0", set())])
def test_one_of_two_nodes(program, weave, tmp_path, reasons, expected):
    """Half of the ranks are slow, all of one node: heat names them; a lower clock alone may be what they are made for."""
    base = common.Base("gemm_bf16")
    ranks = []
    for r in range(4):
        out = common.Rank(base, r, 4, f"n{r // 2}", local_rank=r % 2)
        for t in range(1, 40):
            changes = {"sm_clock": "*0.8", "throttle_reasons": reasons} if r >= 2 else {}
            out.tick(t, [(r % 2, base.busy[(7 * t + r) % len(base.busy)], {**changes, "pid": f"={100 + r}"})])
        ranks.append(out)
    common.write_job({"ranks": ranks, "seconds": 40}, weave, tmp_path)
    said = common.accused(program, tmp_path)
    assert {rank for rank, _ in said} == expected and all(cause == "clock" for _, cause in said), said


def test_healthy_ranks_are_not_accused(program, weave, tmp_path):
    common.write_job(small_job(3), weave, tmp_path)
    text = report(program, tmp_path).stdout
    assert "No rank holds the others up, by 39 steps 'compute' and counters" in text


def test_what_is_no_rank_is_left_out(program, weave, tmp_path):
    common.write_job(small_job(2, steps=False), weave, tmp_path)
    (tmp_path / "rank-0001.assay").rename(tmp_path / "rank-0001-2.assay")
    (tmp_path / "rank-0001.assay").write_bytes((tmp_path / "rank-0000.assay").read_bytes())
    (tmp_path / "broken.assay").write_bytes(b"no session")
    (tmp_path / "notes.txt").write_text("x")
    done = report(program, tmp_path, "--format", "json")
    assert [r["label"] for r in json.loads(done.stdout)["ranks"]] == ["0", "1"]
    assert "1 older recording of ranks that were started again, skipping" in done.stderr
    assert "broken.assay" in done.stderr and "skipping" in done.stderr


@pytest.mark.parametrize("job", ["77.0", ""])
def test_another_run_in_the_folder_is_no_rank(program, weave, tmp_path, job):
    """It was recorded on another day, and would have begun its work weeks after the others; a copy would hide who is late."""
    common.write_job(small_job(4, slow=2, steps=False), weave, tmp_path)
    for file in tmp_path.glob("rank-*.assay"):
        common.change_fact(file, job_id=job)
    (tmp_path / "rank-0007.assay").symlink_to("rank-0002.assay")
    (tmp_path / "train.assay").write_bytes((common.TRUTH / "gemm_bf16.assay").read_bytes())
    other = tmp_path / "rank-0009.assay"
    other.write_bytes((tmp_path / "rank-0003.assay").read_bytes())
    common.change_fact(other, rank=9, job_id="78.0")
    done = report(program, tmp_path, "--format", "json")
    found = json.loads(done.stdout)
    assert [r["label"] for r in found["ranks"]] == ["0", "1", "2", "3"]
    assert [(s["rank"], s["cause"]) for s in found["stragglers"]] == [("2", "clock")]
    for name, why in (("train", "it is no rank of this job"), ("rank-0009", "it is no rank of this job"), ("rank-0007", "a copy of another")):
        assert f"{name}.assay': {why}, skipping" in done.stderr


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_files_of_other_users_are_left_out(program, weave, tmp_path):
    common.write_job(small_job(3, steps=False), weave, tmp_path)
    os.chown(tmp_path / "rank-0002.assay", 12345, 12345)
    done = report(program, tmp_path, "--format", "json")
    assert len(json.loads(done.stdout)["ranks"]) == 2
    assert "1 recording of other users, skipping" in done.stderr


def test_a_launcher_inside_one_session(program, weave, tmp_path):
    """One `assay run` around torchrun on each node: a GPU with a process of its own is a rank, with that process's marks."""
    base = common.Base("gemm_bf16")
    ranks = []
    for node in range(2):
        out = common.Rank(base, None, None, f"n{node}", launcher=None)
        for t in range(1, 40):
            rows = [(g, base.busy[(5 * t + g) % len(base.busy)], {"pid": f"={100 + g}"}) for g in range(2)]
            out.tick(t, rows)
            for g in range(2):
                slow = node == 1 and g == 1
                out.mark(t - 1 + 0.001 * g, "begin", "compute", str(100 + g))
                out.mark(t - 1 + (0.95 if slow else 0.8), "end", "compute", str(100 + g))
        ranks.append(out)
    common.write_job({"ranks": ranks, "seconds": 40}, weave, tmp_path)
    found = json.loads(report(program, tmp_path, "--format", "json").stdout)
    assert [r["label"] for r in found["ranks"]] == ["n0:0", "n0:1", "n1:0", "n1:1"]
    assert [(s["rank"], s["cause"], s["by"]) for s in found["stragglers"]] == [("n1:1", "unknown", "marks")]


def test_a_folder_is_played_as_one_fleet(program, weave, tmp_path):
    common.write_job(small_job(4, slow=2), weave, tmp_path)
    once = subprocess.run([program, "once", tmp_path, "--at", "20", "--json"], capture_output=True, text=True, timeout=60)
    assert [g["gpu"] for g in json.loads(once.stdout)["gpus"]] == ["0", "1", "2", "3"], once.stderr
    plot = subprocess.run([program, "plot", tmp_path, "-o", tmp_path / "job.svg"], capture_output=True, text=True, timeout=60)
    assert plot.returncode == 0, plot.stderr
    assert "holds the others up" in (tmp_path / "job.svg").read_text()


def test_the_mark_of_a_fleet_has_a_cause(program, weave, tmp_path):
    common.write_job(small_job(4, slow=2), weave, tmp_path)
    once = subprocess.run([program, "once", tmp_path, "--at", "38"], capture_output=True, text=True, timeout=60)
    assert once.stdout.count("LATE: it holds the others up: its clock is lower") == 1, once.stdout


def test_diff_takes_the_same_folders(program, weave, tmp_path):
    common.write_job(small_job(2), weave, tmp_path / "a")
    common.write_job(small_job(2), weave, tmp_path / "b")
    done = subprocess.run([program, "diff", tmp_path / "a", tmp_path / "b", "--format", "json"], capture_output=True, text=True, timeout=60)
    assert done.returncode in (0, 3), done.stderr
    assert json.loads(done.stdout)


@pytest.mark.parametrize("name, expected", [
    ("healthy2", []),  # they take turns at the GPU: the same one is second for a while
    ("healthy4", []),
    ("core2", [("1", "core")]),  # 0.12 s of Python in every step
    ("work4", [("2", "unknown")]),  # twice the products; all ranks share the GPU, whose counters do not tell them apart
    ("turns2", []),  # the same, with one of them second in three steps of four
    ("work4_spins", [("2", "unknown")]),  # as work4: its core is full since it waits for kernels of its own
    ("work4_again", [("2", "unknown")]),  # the others' turns differ more than it is late, but it is always the last
    ("seldom4", [("1", "slow_steps")]),  # 0.25 s in every tenth step; what the shared GPU did then is nobody's own
    ("late4", [("3", "late_start")]),  # 8 s of sleep before it joins; the others wait without a kernel
    ("core4_unmarked", [("2", "core")]),  # as core2, without marks: only the processes' CPU time tells
])
def test_real_ranks(program, name, expected):
    """PyTorch on an H200, ranks that share it: tests/truth/ranks.py made them."""
    found = json.loads(report(program, ROOT / "tests" / "truth" / "ranks" / name, "--format", "json").stdout)
    assert [(s["rank"], s["cause"]) for s in found["stragglers"]] == expected


def test_who_waits_for_a_straggler_is_not_told_to_mend_itself(program):
    """Of ranks that a straggler costs most of a finding, not of those that it costs little."""
    def told(name):
        return report(program, ROOT / "tests" / "truth" / "ranks" / name, "--all").stdout
    core = told("core2")
    assert "it may only wait for rank 1\n    try: mend what holds the others up first" in core and "who is not late may only wait for rank 1" in core
    assert not [name for name in ("healthy4", "work4", "seldom4", "late4") if "may only wait" in told(name)]


def layouts_job(kind, seed, **chosen):
    """A small job of tests/ranks/layouts.py, with some of its choices made."""
    import layouts

    number = layouts.INJECTED.index(kind) if kind in layouts.INJECTED else next(n for n in range(30, 60) if layouts.HEALTHY[n % len(layouts.HEALTHY)] == kind)
    job = layouts.Job(number, random.Random(seed))
    job.n, job.hz, job.seconds, job.base = 8, 1, 100, common.Base("train_block")
    job.__dict__.update(chosen)
    job.clock_of = [1.0] * job.n
    return job.make()


@pytest.mark.parametrize("kind, chosen", [
    # The other of its group waits for it, and is as late by marks.
    ("hot", {"faults": {5: "hot"}, "group": 2, "micro": 1, "step_s": 1.4, "marks": "reduce_gradients", "amount": 0.3, "since": 0}),
    ("seldom", {"faults": {3: "seldom"}, "group": 2, "micro": 1, "step_s": 0.6, "marks": "forward_backward", "since": 0, "seconds": 240}),
    # A core that is full from the middle on.
    ("loader", {"faults": {2: "loader"}, "group": 1, "micro": 1, "step_s": 1.4, "marks": None, "amount": 0.25, "since": 45, "thread": 0.3}),
    # Rank 0 alone does what is for all.
    ("saves", {"group": 1, "micro": 1, "step_s": 0.6, "marks": None}),
    ("evaluates", {"group": 1, "micro": 1, "step_s": 0.6, "marks": "reduce_gradients"}),
])
def test_layouts(program, weave, tmp_path, kind, chosen):
    job = layouts_job(kind, 5, **chosen)
    common.write_job(job, weave, tmp_path)
    said = common.accused(program, tmp_path)
    assert common.right(job, said), (job["what"], said)


# ---- what is odd about nodes and ranks is said once, with a count ----

def change_gpu(path, uuid):
    with sqlite3.connect(path) as db:
        db.execute("update entity set uuid = ?", (uuid,))


def notes(program, folder):
    return json.loads(report(program, folder, "--format", "json").stdout)["notes"]


def test_two_machines_of_one_name(program, weave, tmp_path):
    """GPU 0 of one vm is not GPU 0 of the other: two nodes, and no GPU that two ranks share."""
    job = small_job(4, slow=2)
    for rank in job["ranks"]:
        rank.lines = ["text host vm" if line.startswith("text host") else line for line in rank.lines]
    common.write_job(job, weave, tmp_path)
    for i in range(4):
        change_gpu(tmp_path / f"rank-{i:04d}.assay", f"GPU-{i}")
    found = json.loads(report(program, tmp_path, "--format", "json").stdout)
    assert [(r["label"], r["node"], r["gpu"]) for r in found["ranks"]] == [("0", "vm#1", "0"), ("1", "vm#1", "1"), ("2", "vm#2", "0"), ("3", "vm#2", "1")]
    assert found["notes"] == ["1 node name is that of several machines, by the GPUs' UUIDs: 'vm'; they are numbered here"]
    text = report(program, tmp_path).stdout
    assert text.startswith("job 77.0: 4 ranks on 2 nodes") and text.count("of several machines") == 1
    assert [s["rank"] for s in found["stragglers"]] == ["2"]


def test_the_same_rank_twice(program, weave, tmp_path):
    """At one time, so it is no second start: somebody gave two ranks one number."""
    common.write_job(small_job(4), weave, tmp_path)
    common.change_fact(tmp_path / "rank-0002.assay", rank=1)
    common.change_fact(tmp_path / "rank-0003.assay", rank=0)
    assert notes(program, tmp_path) == ["2 ranks are recorded more than once: 0 and others; they are named by node and GPU here"]
    found = json.loads(report(program, tmp_path, "--format", "json").stdout)
    assert [r["label"] for r in found["ranks"]] == ["n0:0", "n1:1", "n0:1", "n1:0"] and found["missing"] == [2, 3]


@pytest.mark.parametrize("hours", [3, -5])
def test_clocks_that_are_hours_apart(program, weave, tmp_path, hours):
    """One node's clock is wrong: nobody began hours late, and who is slow is found all the same."""
    job = small_job(6, slow=2)
    for rank in job["ranks"][4:]:
        start = next(i for i, line in enumerate(rank.lines) if line.startswith("start "))
        rank.lines[start] = f"start {int(rank.lines[start].split()[1]) + hours * 3600 * 10**9}"
    common.write_job(job, weave, tmp_path)
    found = json.loads(report(program, tmp_path, "--format", "json").stdout)
    assert [(s["rank"], s["cause"]) for s in found["stragglers"]] == [("2", "clock")]
    assert found["notes"] == [f"the clock of 1 node is off by up to {abs(hours)} h 0 min: their times are moved so that all nodes begin together"]
    assert [round(r["clock_offset"]) for r in found["ranks"]] == [0] * 4 + [hours * 3600] * 2 and found["seconds"] < 60
    assert "taken as they are" not in report(program, tmp_path).stdout


def test_nothing_odd_has_no_notes(program, weave, tmp_path):
    common.write_job(small_job(4), weave, tmp_path)
    assert "notes" not in json.loads(report(program, tmp_path, "--format", "json").stdout)


@pytest.mark.parametrize("form", ["csv", "markdown", "html"])
def test_a_job_in_every_format(program, weave, tmp_path, form):
    common.write_job(small_job(4, slow=2), weave, tmp_path)
    text = report(program, tmp_path, "--format", form).stdout
    rows = {"csv": r"^\d,\d,", "markdown": r"^\| \d \| n\d", "html": r'<tr><td class="text words(?: loud)?">\d'}[form]
    rows = re.findall(rows, text, re.M)
    assert len(rows) == 4 and ("sort" in text) == (form == "html")
    assert form == "csv" or "holds the others up by 0.15 s a step" in text.replace("\\", "")
