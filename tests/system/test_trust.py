"""Whom root, and a set-id program, believe."""
import os
import shutil
import subprocess

import pytest
from conftest import clean_env

NOBODY = 65534
pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="takes root")


@pytest.fixture
def capture(tmp_path):
    path = tmp_path / "capture.txt"
    path.write_text("# Entity  GPUTL  MCUTL\n     ID\n  GPU 0  50  10\n")
    return path


@pytest.mark.parametrize("owner, mode, why", [
    (NOBODY, 0o644, "it belongs to another user"),
    (0, 0o666, "others may write it"),
    (0, 0o664, "others may write it"),
])
def test_root_reads_no_config_of_others(assay, tmp_path, capture, owner, mode, why):
    config = tmp_path / ".config" / "assay" / "config"
    config.parent.mkdir(parents=True)
    config.write_text("nvml-lib = /tmp/evil.so\nsource = /etc/no-such-file\n")
    config.chmod(mode)
    os.chown(config, owner, -1)
    done = assay("once", "--source", capture)
    assert done.returncode == 0, done.stderr
    assert f"root does not read the config file '{config}': {why}, ignoring" in done.stderr
    done = assay("once", "--source", capture, "--config", config)
    assert done.returncode != 0 and why in done.stderr and "chown root" in done.stderr


@pytest.mark.parametrize("owner", [0, NOBODY])
def test_a_pipe_in_the_place_of_a_config_file_keeps_nobody_waiting(assay, tmp_path, capture, owner):
    config = tmp_path / ".config" / "assay" / "config"
    config.parent.mkdir(parents=True)
    os.mkfifo(config)
    os.chown(config, owner, -1)
    done = assay("once", "--source", capture, timeout=10)
    assert done.returncode == 0 and ("belongs to another user" in done.stderr) == (owner != 0), done


def test_a_config_of_the_shell(program, tmp_path, capture):
    """<(...) is a pipe that somebody writes to."""
    done = subprocess.run(["bash", "-c", f"'{program}' once --config <(sleep 0.2; echo 'source = {capture}')"], env=clean_env(tmp_path), capture_output=True, text=True, timeout=60,
                          check=False)
    assert done.returncode == 0 and "50" in done.stdout, done


def test_root_reads_its_own(assay, tmp_path, capture):
    config = tmp_path / ".config" / "assay" / "config"
    config.parent.mkdir(parents=True)
    config.write_text(f"[once]\nsource = {capture}\n")
    config.chmod(0o644)
    done = assay("once")
    assert done.returncode == 0 and "ignoring" not in done.stderr, done.stderr


@pytest.fixture
def set_id(program, tmp_path):
    """Runs a set-id copy of the program as somebody else, whose folder comes first on the PATH."""
    for parent in [tmp_path, *tmp_path.parents][:-2]:
        if parent.stat().st_uid == 0:
            parent.chmod(parent.stat().st_mode | 0o011)
    tmp_path.chmod(0o777)
    copy = tmp_path / "assay"
    shutil.copy(program, copy)
    copy.chmod(0o4755)
    env = {**clean_env(tmp_path), "PATH": f"{tmp_path}:/usr/bin:/bin"}

    def run(*words, **more):
        user = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", copy]
        return subprocess.run([*user, *words], env={**env, **more}, capture_output=True, text=True, timeout=60, check=False, cwd=tmp_path)

    if run("--version").returncode != 0:
        pytest.skip("set-id programs do not run here")
    return run


@pytest.mark.parametrize("tool, words", [("kubectl", ["--kubernetes"]), ("sinfo", ["--slurm", "all"])])
def test_a_set_id_program_runs_no_helper_of_its_caller(set_id, tmp_path, tool, words):
    marker = tmp_path / "ran"
    (tmp_path / tool).write_text(f"#!/bin/sh\nid -u >{marker}\n")
    (tmp_path / tool).chmod(0o755)
    done = set_id("fleet", "targets", *words)
    assert done.returncode == 3 and not marker.exists(), (done, marker.exists() and marker.read_text())


def test_a_set_id_program_reads_nothing_that_its_caller_may_not(set_id, tmp_path, capture):
    assert set_id("once", "--source", str(capture)).returncode == 0
    capture.chmod(0o600)
    done = set_id("once", "--source", str(capture))
    assert done.returncode != 0 and "permission denied" in done.stderr, done
    done = set_id("record", "-q", "--duration", "0.2", "-o", str(tmp_path / "x.assay"))
    assert (tmp_path / "x.assay").stat().st_uid == NOBODY, done


def test_capabilities_of_the_file_are_given_up(program, tmp_path, capture):
    if not shutil.which("setcap"):
        pytest.skip("no setcap")
    for parent in [tmp_path, *tmp_path.parents][:-2]:
        parent.chmod(parent.stat().st_mode | 0o011)
    copy = tmp_path / "assay"
    shutil.copy(program, copy)
    if subprocess.run(["setcap", "cap_dac_read_search+ep", copy], capture_output=True, check=False).returncode != 0:
        pytest.skip("capabilities cannot be set here")
    capture.chmod(0o600)
    done = subprocess.run([copy, "once", "--source", capture], user=NOBODY, group=NOBODY, extra_groups=[], env=clean_env(tmp_path), capture_output=True, text=True,
                          timeout=60, check=False)
    assert done.returncode != 0 and "permission denied" in done.stderr, done


def test_no_helper_is_taken_from_the_current_folder(program, tmp_path):
    marker = tmp_path / "ran"
    (tmp_path / "sinfo").write_text(f"#!/bin/sh\ntouch {marker}\n")
    (tmp_path / "sinfo").chmod(0o755)
    for path in (".:/usr/bin", ":/usr/bin", "../" + tmp_path.name):
        done = subprocess.run([program, "fleet", "targets", "--slurm", "all"], env={**clean_env(tmp_path), "PATH": path}, cwd=tmp_path, capture_output=True, timeout=60,
                              check=False)
        assert done.returncode == 3 and not marker.exists(), path


def test_a_set_id_program_ignores_variables_and_libraries(set_id, tmp_path):
    """With the caller's variables it would run the caller's code with its owner's rights."""
    run, copy = set_id, tmp_path / "assay"
    marker = tmp_path / "ran"
    dcgmi = tmp_path / "dcgmi"
    dcgmi.write_text(f"#!/bin/sh\ntouch {marker}\n")
    dcgmi.chmod(0o755)
    for more, words in (({}, []), ({"ASSAY_DCGMI": str(dcgmi)}, []), ({}, ["--dcgmi", str(dcgmi)])):
        run("once", "--backend", "dcgm", *words, **more)
        assert not marker.exists(), (more, words)
    # The same without the bit does what it is told.
    copy.chmod(0o755)
    run("once", "--backend", "dcgm", "--dcgmi", str(dcgmi))
    assert marker.exists()
