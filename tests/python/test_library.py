"""Finding libassay, and what is told when it is not there or does not fit."""
import re
import shutil
import subprocess
import sys
import zipfile

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


def pip(*args):
    """pip with nothing to fetch from, and with its own empty environment to build in."""
    subprocess.run([sys.executable, "-m", "pip", "--isolated", *args], check=True, capture_output=True,
                   env={"PATH": "/usr/bin:/bin", "PIP_CONFIG_FILE": "/dev/null", "PIP_NO_INDEX": "1"})


@pytest.mark.slow
@pytest.mark.parametrize("flags", [[], ["--editable"]], ids=["copied", "editable"])
def test_pip(tmp_path, flags):
    """pip installs the package without the net and without setuptools; what is installed is what is here."""
    target, source = tmp_path / "site", shutil.copytree(PACKAGE, tmp_path / "source")
    pip("install", "--no-index", "--target", target, *flags, source)
    place = source if flags else target
    done = subprocess.run([sys.executable, "-c", f"import site; site.addsitedir({str(target)!r}); import assay, importlib.metadata as m\n"
                           "print(assay.__file__, assay.lib_version(), m.version('assay'))"], cwd=tmp_path,
                          env={"PYTHONPATH": str(target), "ASSAY_LIB": str(BUILD / "libassay.so.0"), "PATH": "/usr/bin:/bin"},
                          capture_output=True, text=True, check=True)
    version = re.search(r"version: '([\d.]+)'", (ROOT / "meson.build").read_text()).group(1)
    assert done.stdout.split() == [str(place / "assay/__init__.py"), version, version]
    assert {p.name for p in (place / "assay").iterdir()} - {"__pycache__"} == \
        {p.name for p in (PACKAGE / "assay").iterdir()} - {"__pycache__"}
    assert {p.name for p in source.iterdir()} <= {p.name for p in PACKAGE.iterdir()} | {"__pycache__"}, "nothing is left in the source"


@pytest.mark.slow
def test_source_archive(tmp_path):
    """A wheel made from the archive is the one made from here."""
    done = subprocess.run([sys.executable, "-c", "import backend, sys; print(backend.build_sdist(sys.argv[1]))", tmp_path], cwd=PACKAGE,
                          env={"PYTHONDONTWRITEBYTECODE": "1"}, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == f"assay-{assay.__version__}.tar.gz"
    for name, source in (("one", tmp_path / done.stdout.strip()), ("two", PACKAGE)):
        pip("wheel", "--no-index", "--wheel-dir", tmp_path / name, source)
    names = [{(i.filename, i.CRC) for i in zipfile.ZipFile(next((tmp_path / n).glob("*.whl"))).infolist()} for n in ("one", "two")]
    assert names[0] == names[1] and len(names[0]) > 12


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
    assert done.returncode == 1 and "cannot find the program" in done.stderr
