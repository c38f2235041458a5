"""What `meson install` puts under a prefix works from there."""
import os
import pathlib
import re
import shutil
import subprocess

import pytest


@pytest.fixture(scope="module")
def prefix(program, tmp_path_factory):
    build = pathlib.Path(program).parent
    if not (build / "build.ninja").exists():
        pytest.skip("the program was not built by Meson here")
    root = tmp_path_factory.mktemp("root")
    subprocess.run(["meson", "install", "-C", str(build), "--no-rebuild", "--destdir", str(root)], check=True,
                   capture_output=True)
    return root / "usr/local"


def test_program_runs_from_there(prefix):
    tour = prefix / "share/assay/h200-tour.csv"
    done = subprocess.run([prefix / "bin/assay", "once", "--source", tour], capture_output=True, text=True, check=False)
    assert done.returncode == 0 and "H200" in done.stdout


def test_pkg_config(prefix):
    pc = next(prefix.rglob("assay.pc"))
    done = subprocess.run(["pkg-config", "--modversion", str(pc)], capture_output=True, text=True, check=False)
    version = subprocess.run([prefix / "bin/assay", "--version"], capture_output=True, text=True, check=False)
    assert done.stdout.strip() == version.stdout.split()[1]


def test_man_pages(prefix):
    pages = sorted((prefix / "share/man/man1").glob("*.1"))
    commands = subprocess.run([prefix / "bin/assay", "help"], capture_output=True, text=True, check=False).stdout
    names = [x.split()[0] for x in commands.split("commands\n")[1].split("\n\n")[0].splitlines()]
    assert {p.name for p in pages} >= {"assay.1", *(f"assay-{n}.1" for n in names)}
    for page in pages:
        text = page.read_text()
        assert not re.search("@[A-Z_]+@", text)
        if shutil.which("groff"):
            done = subprocess.run(["groff", "-K", "utf8", "-man", "-Tutf8", "-ww", "-z", str(page)], capture_output=True, text=True,
                                  check=False)
            assert done.stderr == "", page.name


def complete(prefix, *words):
    """What bash offers for a command line."""
    script = (f"source {prefix}/share/bash-completion/completions/assay\n"
              f"COMP_WORDS=({' '.join(words)}); COMP_CWORD={len(words) - 1}; _assay; echo ${{COMPREPLY[@]}}")
    return subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True,
                          env={"PATH": os.environ["PATH"]}).stdout.split()


def test_bash_completion(prefix):
    assert "export" in complete(prefix, "assay", "ex")
    assert complete(prefix, "assay", "export", "--missing", "z") == ["zero"]
    assert complete(prefix, "assay", "once", "--hpc") == ["--hpc-weights"]
    assert "replay" in complete(prefix, "assay", "--backend", "re")
    assert complete(prefix, "assay", "once", "--phase") == [], "an option of another command"
    assert complete(prefix, "assay", "report", "run.assay", "--phase") == ["--phase"]
    assert complete(prefix, "assay", "report", "--format", "h") == ["html"]
    assert complete(prefix, "assay", "export", "--format", "") == ["csv", "jsonl", "folded", "speedscope"]


@pytest.mark.parametrize("shell, name, flag", [("zsh", "zsh/site-functions/_assay", "-n"),
                                               ("fish", "fish/vendor_completions.d/assay.fish", "-n")])
def test_other_shells_parse(prefix, shell, name, flag):
    path = prefix / "share" / name
    assert "--poll" in path.read_text() or "-l poll" in path.read_text()
    if shutil.which(shell):
        assert subprocess.run([shell, flag, str(path)], check=False).returncode == 0
