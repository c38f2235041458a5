"""What a release is made of, as far as it can be seen without making one; './dev dist --check' makes and proves it."""
import ast
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import zipfile

import pytest

TREE = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TREE / "packaging"))
sys.path.insert(0, str(TREE / "python"))

import backend  # noqa: E402  pylint: disable=wrong-import-position
import elf  # noqa: E402  pylint: disable=wrong-import-position
import notes as release_notes  # noqa: E402  pylint: disable=wrong-import-position

VERSION = re.search(r"^  version: '(.+)'", (TREE / "meson.build").read_text(), re.M)[1]


def test_version_json(program):
    said = json.loads(subprocess.run([program, "--version", "--json"], capture_output=True, text=True, check=True).stdout)
    assert said["program"] == "assay" and said["version"] == VERSION
    assert {type(x) for x in said["features"].values()} == {bool}
    assert all(name is None or ".so" in name for name in said["libraries"].values())
    assert (said["gpm"] is None) == (said["libraries"]["nvml"] is None), "GPM is not known without the driver's library"
    assert said["kernel"] == os.uname().release


def test_version_lists_every_library():
    """A library that is loaded by name is told by --version --json."""
    told = (TREE / "src/cmd/version.c").read_text()
    names = {n for path in (TREE / "src").rglob("*.c") for n in re.findall(r'"(lib[\w.+-]+\.so[\w.]*)"', path.read_text())}
    assert {"libcairo.so.2", "libcurl.so.4"} <= names
    assert [n for n in sorted(names) if n not in told] == []


@pytest.mark.parametrize("dump, needs, why", [
    ("0 DF *UND* 0 (GLIBC_2.2.5) open", [], "as old as can be"),
    ("0 DF *UND* 0 (GLIBC_2.28) fcntl64", [], "the newest that is allowed"),
    ("0 DF *UND* 0 (GLIBC_2.34) dlopen", ["f: dlopen needs glibc 2.34"], "too new"),
    ("0 DF *UND* 0 (GLIBC_2.3.4) x\n0 DF *UND* 0 GLIBC_2.100 y", ["f: y needs glibc 2.100"], "numbers, not text"),
    ("  NEEDED               libcairo.so.2", ["f: needs libcairo.so.2"], "not part of glibc"),
    ("  RUNPATH              /home", ["f: has an RPATH"], "paths of the builder"),
])
def test_symbol_check(monkeypatch, dump, needs, why):
    monkeypatch.setattr(elf, "_objdump", lambda option, path: dump)
    assert elf.complaints("f") == needs, why


def test_wrapped_names_have_wrappers():
    """Each --wrap of the portable build has its function, and the other way round."""
    meson = (TREE / "packaging/portable/meson.build").read_text()
    wrapped = set(re.findall(r"'(\w+)'", meson[meson.index("wrapped = ["):meson.index("]")]))
    source = (TREE / "packaging/portable/compat.c").read_text()
    written = set(re.findall(r"^OLD\(\w+, [\w *]+, (\w+),", source, re.M)) | {"gettid", "getdents64"}
    written |= {kind + bits for kind in ("stat", "lstat", "fstat", "fstatat") for bits in ("", "64")}
    assert wrapped == written


def test_binary_wheel(tmp_path):
    """What pip needs to know: tag, record, and a program that may be executed."""
    more = {"assay/libassay.so.0": b"\x7fELF library", f"{backend.NAME}.data/scripts/assay": b"\x7fELF program"}
    name = backend.write_binary_wheel(str(tmp_path), more, {"LICENSE": b"MIT"}, "py3-none-manylinux_2_28_x86_64")
    assert name == f"assay-{VERSION}-py3-none-manylinux_2_28_x86_64.whl"
    with zipfile.ZipFile(tmp_path / name) as wheel:
        info = f"assay-{VERSION}.dist-info"
        assert "Root-Is-Purelib: false" in wheel.read(f"{info}/WHEEL").decode()
        assert f"Version: {VERSION}" in wheel.read(f"{info}/METADATA").decode()
        record = wheel.read(f"{info}/RECORD").decode()
        assert {line.split(",")[0] for line in record.splitlines()} == set(wheel.namelist())
        assert wheel.getinfo(f"{backend.NAME}.data/scripts/assay").external_attr >> 16 == 0o100755


@pytest.fixture(name="unpacked")
def make_unpacked(program, tmp_path):
    """A folder like the tarball's, around the program that is tested."""
    top = tmp_path / "assay-1"
    for name in ("bin", "include/assay", "lib/python/assay", "share/assay"):
        (top / name).mkdir(parents=True)
    shutil.copy(program, top / "bin/assay")
    for path in (TREE / "python/assay").glob("*.py"):
        shutil.copy(path, top / "lib/python/assay")
    shutil.copy(TREE / "docs/example/tour.assay", top / "share/assay")
    shutil.copy(TREE / "packaging/install.sh", top)
    return top


def install(top, *args, home):
    return subprocess.run([top / "install.sh", *map(str, args)], capture_output=True, text=True, check=False,
                          env={"HOME": str(home), "PATH": os.environ["PATH"]})


def test_install(unpacked, tmp_path):
    """By default below ~/.local, where the tour is found, and --remove leaves nothing."""
    home = tmp_path / "a home"
    home.mkdir()
    done = install(unpacked, home=home)
    assert done.returncode == 0 and "export PATH=" in done.stdout, done.stderr
    own = home / ".local/share/assay/own.txt"
    own.write_text("kept")
    assert install(unpacked, home=home).returncode == 0, "over itself"
    tour = subprocess.run([home / ".local/bin/assay", "tour"], capture_output=True, text=True, check=False)
    assert "H200" in tour.stdout, tour.stderr
    assert install(unpacked, "--remove", home=home).returncode == 0
    assert [p.name for p in home.rglob("*") if not p.is_dir()] == ["own.txt"], "only what somebody else wrote is left"


@pytest.mark.parametrize("args, status, says", [
    (["--remove", "{tmp}"], 1, "not installed"), (["--force"], 2, "unknown option '--force'"), (["a", "b"], 2, "one prefix"),
])
def test_install_mistakes(unpacked, tmp_path, args, status, says):
    done = install(unpacked, *[a.format(tmp=tmp_path) for a in args], home=tmp_path)
    assert done.returncode == status and says in done.stderr


RECIPES = TREE / "packaging/recipes"


@pytest.mark.parametrize("name", ["spack/package.py", "assay-0.2.0.eb"])
def test_recipes_parse(name):
    ast.parse((RECIPES / name).read_text())


def test_conda_recipe_parses():
    yaml = pytest.importorskip("yaml")
    lines = [line for line in (RECIPES / "conda/meta.yaml").read_text().splitlines() if not line.startswith("{%")]
    recipe = yaml.safe_load(re.sub(r"\{\{.*?\}\}", "x", "\n".join(lines)))
    assert recipe["package"]["name"] == "assay" and recipe["about"]["license"] == "MIT"


def test_everybody_says_the_same_version():
    """What names the version by hand names this one."""
    places = [p for p in RECIPES.rglob("*") if p.is_file()] + [TREE / "packaging/rpm/assay.spec", TREE / "docs/INSTALL.md"]
    for path in places:
        found = set(re.findall(r"(?:assay[-/ ]|^(?:ARG )?(?:version|VERSION)\W{1,6})(\d+\.\d+\.\d+)", path.read_text(), flags=re.M))
        assert found <= {VERSION}, path


@pytest.mark.parametrize("text, version, notes, why", [
    ("## 0.2.0 (2026)\n\n- a\n\n## 0.1.0\n\n- b\n", "0.2.0", "- a", "its own section"),
    ("## Unreleased\n\n- a\n\n## 0.1.0\n\n- b\n", "0.2.0", "- a", "not named yet"),
    ("## 0.1.0\n\n- b\n", "0.1.0", "- b", "the last of the file"),
    ("## 0.1.0\n\n- b\n", "0.3.0", None, "not there"),
])
def test_release_notes(text, version, notes, why):
    assert release_notes.section(text, version) == notes, why


def test_service_is_confined():
    """systemd's own rating, where it can be asked without a running systemd."""
    unit = TREE / "deploy/systemd/assay-serve.service"
    if not shutil.which("systemd-analyze"):
        pytest.skip("no systemd-analyze")
    done = subprocess.run(["systemd-analyze", "security", "--offline=yes", str(unit)], capture_output=True, text=True, check=False)
    rating = re.search(r"exposure level for \S+: ([0-9.]+)", done.stdout)
    if not rating:
        pytest.skip(f"systemd-analyze does not rate files here: {done.stderr[:100]}")
    assert float(rating[1]) <= 2.0


@pytest.mark.parametrize("path", ["packaging/install.sh", "packaging/smoke.sh", "packaging/debian/assay-serve.postinst",
                                  "packaging/debian/assay-serve.postrm", "packaging/debian/tests/smoke", "dev"])
def test_shell_scripts_parse(path):
    assert subprocess.run(["sh", "-n", str(TREE / path)], check=False).returncode == 0


def test_dev_without_a_package_manager(tmp_path):
    """A list of what is missing, not the failure of a tool that is not there."""
    tools = tmp_path / "bin"
    tools.mkdir()
    for name in ("dirname", "sed", "id", "nproc"):
        os.symlink(shutil.which(name), tools / name)
    shutil.copy(TREE / "dev", tmp_path / "dev")
    done = subprocess.run(["/bin/sh", tmp_path / "dev", "run"], capture_output=True, text=True, check=False, env={"PATH": str(tools)})
    assert done.returncode == 1 and "please install: cc meson ninja pkg-config inih jansson" in done.stderr
