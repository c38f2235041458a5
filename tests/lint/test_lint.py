"""The rules a machine can check."""
import pathlib
import re
import subprocess
import sys

import pytest

from conftest import ROOT

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import layers  # noqa: E402


def tracked(*patterns):
    out = subprocess.run(["git", "ls-files", *patterns], cwd=ROOT, capture_output=True, text=True, check=False)
    return [ROOT / p for p in out.stdout.split()]


def test_layers():
    assert list(layers.complaints()) == []


def test_layers_would_be_noticed(tmp_path, monkeypatch):
    """The check itself can fail."""
    (tmp_path / "src" / "base").mkdir(parents=True)
    (tmp_path / "src" / "base" / "bad.c").write_text('#include "present/stream/csv.h"\n#include <curses.h>\n')
    monkeypatch.setattr(layers, "ROOT", tmp_path)
    assert len(list(layers.complaints())) == 2


def test_format():
    files = tracked("*.c", "*.h")
    if not files:
        pytest.skip("not a git checkout")
    done = subprocess.run(["clang-format-14", "--dry-run", "--Werror", *map(str, files)], capture_output=True,
                          text=True, check=False)
    assert done.returncode == 0, done.stderr[:2000]


def test_dev_is_plain_shell():
    assert subprocess.run(["dash", "-n", str(ROOT / "dev")], check=False).returncode == 0


def test_every_command_has_a_man_page():
    names = re.findall(r"COMMAND\((\w+)\)", (ROOT / "src/cmd/commands.def").read_text())
    for name in names:
        if name != "name":
            assert (ROOT / f"man/assay-{name}.1.in").exists(), name


def test_the_project_speaks_of_itself_alone():
    words = re.compile(r"/work/|\.library|BRIEF\.md|helper-\d")
    for path in tracked("src/*", "docs/*.md", "README.md", "man/*", "tests/*.py", "dev", "CHANGELOG.md"):
        if path.is_file() and path.suffix not in (".png", ".gz") and path != pathlib.Path(__file__).resolve():
            assert not words.search(path.read_text(errors="ignore")), path
