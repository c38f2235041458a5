"""Finding libassay, and what is told when it is not there or does not fit."""
import re
import shutil
import subprocess
import sys

import pytest

import assay
from .conftest import BUILD, PACKAGE, ROOT


def test_one_version():
    meson = re.search(r"version: '([\d.]+)'", (ROOT / "meson.build").read_text()).group(1)
    assert assay.__version__ == meson
    assert assay.lib_version() == meson


def test_everything_that_is_used_is_declared():
    """Each function has the arguments that the header gives it."""
    from assay import _lib
    header = (ROOT / "include/assay/assay.h").read_text()
    for name, (_, arguments) in _lib._CALLS.items():
        found = re.search(rf"\b{name}\(([^;]*?)\)\s*;", header)
        assert found, f"{name} is not in the header"
        words = re.sub(r"\s+", " ", found.group(1)).strip()
        assert len(arguments) == (0 if words == "void" else words.count(",") + 1), name


@pytest.mark.parametrize("name, says", [
    ("/nowhere/libassay.so.0", "cannot load '/nowhere/libassay.so.0', which ASSAY_LIB names"),
    (str(PACKAGE / "pyproject.toml"), "cannot load"),
])
def test_a_wrong_library(python, name, says):
    done = python("import assay\ntry: assay.lib_version()\nexcept assay.AssayError as e: print(e, '|', e.hint)", ASSAY_LIB=name)
    assert says in done.stdout and "| set ASSAY_LIB" in done.stdout


def test_a_library_that_is_too_old(python):
    """Any library without our functions stands for one."""
    done = python("import assay\ntry: assay.lib_version()\nexcept assay.AssayError as e: print(e)", ASSAY_LIB="libm.so.6")
    assert "has no assay_version" in done.stdout and "one release" in done.stdout


def test_none_at_all(python, tmp_path):
    """Importing works without the library; the first use says what is missing."""
    package = tmp_path / "a/b/c/d/assay"
    shutil.copytree(PACKAGE / "assay", package)
    done = python("import assay\ntry: assay.Monitor()\nexcept assay.AssayError as e: print(e.message, '|', e.hint)",
                  ASSAY_LIB="", PATH="/nowhere", PYTHONPATH=str(package.parent))
    assert done.stdout.startswith("cannot find libassay.so.0 | install assay"), done.stdout + done.stderr


@pytest.mark.parametrize("place", ["beside", "prefix", "program"])
def test_where_it_is_found(python, tmp_path, place):
    """Beside the package; in the prefix the package is in; in the prefix of the program on the PATH."""
    package = tmp_path / "there/lib/python3/dist-packages/assay"
    shutil.copytree(PACKAGE / "assay", package)
    path = "/nowhere"
    if place == "beside":
        target = package
    elif place == "prefix":
        target = tmp_path / "there/lib"
    else:
        target = tmp_path / "other/lib"
        program = tmp_path / "other/bin/assay"
        program.parent.mkdir(parents=True)
        program.write_text("#!/bin/sh\n")
        program.chmod(0o755)
        path = str(program.parent)
    target.mkdir(parents=True, exist_ok=True)
    shutil.copy(BUILD / "libassay.so.0", target / "libassay.so.0")
    done = python("import assay; assay.lib_version(); print(assay._lib.lib()._found._name)", ASSAY_LIB="", PATH=path,
                  PYTHONPATH=str(package.parent))
    assert done.stdout.strip() == str(target / "libassay.so.0"), done.stderr


@pytest.mark.slow
def test_pip(tmp_path):
    """pip installs the package without the net; what is installed is what is here."""
    target = tmp_path / "site"
    subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "--no-index", "--no-build-isolation", "--no-deps", "--target", target,
                    shutil.copytree(PACKAGE, tmp_path / "source")], check=True)
    done = subprocess.run([sys.executable, "-c", "import assay; print(assay.__file__, assay.lib_version())"], cwd=tmp_path,
                          env={"PYTHONPATH": str(target), "ASSAY_LIB": str(BUILD / "libassay.so.0"), "PATH": "/usr/bin:/bin"},
                          capture_output=True, text=True, check=True)
    assert done.stdout.split() == [str(target / "assay/__init__.py"), assay.__version__]
    assert (target / "assay/py.typed").exists()
    assert list(target.glob(f"assay-{assay.__version__}.dist-info"))


@pytest.mark.slow
def test_meson_install(tmp_path):
    """The installed package finds the installed library by itself."""
    subprocess.run(["meson", "install", "-C", BUILD, "--no-rebuild", "--quiet", "--destdir", tmp_path / "root"], check=True,
                   capture_output=True)
    package = next((tmp_path / "root").rglob("assay/__init__.py")).parent
    done = subprocess.run([sys.executable, "-c", "import assay; print(assay.lib_version()); print(assay._lib.lib()._found._name)"],
                          env={"PYTHONPATH": str(package.parent), "PATH": "/usr/bin:/bin"}, capture_output=True, text=True, check=True)
    version, name = done.stdout.split()
    assert version == assay.__version__ and name.startswith(str(tmp_path / "root"))
    files = {p.name for p in package.glob("*.py")}
    assert files == {p.name for p in (PACKAGE / "assay").glob("*.py")}


def test_the_program_as_a_module(python, tmp_path):
    program = tmp_path / "assay"
    program.write_text("#!/bin/sh\necho ran \"$@\"\n")
    program.chmod(0o755)
    done = subprocess.run([sys.executable, "-m", "assay", "once", "--json"], env={"PATH": str(tmp_path), "PYTHONPATH": str(PACKAGE)},
                          capture_output=True, text=True, check=False)
    assert done.stdout == "ran once --json\n"
    done = subprocess.run([sys.executable, "-m", "assay"], env={"PATH": "/nowhere", "PYTHONPATH": str(PACKAGE)},
                          capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "is not on the PATH" in done.stderr
