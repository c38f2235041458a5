"""Ranks of a job: a session each in one folder, and one report of all of them."""

import os
import sqlite3
import stat
import subprocess

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
