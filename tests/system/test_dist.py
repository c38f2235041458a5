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
import dist as release  # noqa: E402  pylint: disable=wrong-import-position
import elf  # noqa: E402  pylint: disable=wrong-import-position
import sbom as release_sbom  # noqa: E402  pylint: disable=wrong-import-position
import notes as release_notes  # noqa: E402  pylint: disable=wrong-import-position

VERSION = re.search(r"^  version: '(.+)'", (TREE / "meson.build").read_text(), re.M)[1]


def test_version_json(program):
    said = json.loads(subprocess.run([program, "--version", "--json"], capture_output=True, text=True, check=True).stdout)
    assert said["program"] == "assay" and said["version"] == VERSION
    assert {type(x) for x in said["features"].values()} == {bool}
    assert all(name is None or ".so" in name for name in said["libraries"].values())
    assert (said["gpm"] is None) == (said["libraries"]["nvml"] is None), "GPM is not known without the driver's library"
    assert said["kernel"] == os.uname().release


def test_version_tells_libraries_that_are_here(program):
    """By the linker's own list: what it has not is null, what is told is in it."""
    known = subprocess.run(["/sbin/ldconfig", "-p"], capture_output=True, text=True, check=True).stdout
    names = dict(re.findall(r'\{"(\w+)", \{([^}]+)\}\}', (TREE / "src/cmd/version.c").read_text()))
    said = json.loads(subprocess.run([program, "--version", "--json"], capture_output=True, text=True, check=True).stdout)["libraries"]
    assert set(said) == set(names)
    for library, told in said.items():
        here = [n for n in re.findall(r'"([^"]+)"', names[library]) if f"\t{n} (" in known]
        assert told == (here[0] if here else None), library


def test_version_lists_every_library():
    """A library that is loaded by name is told by --version --json."""
    told = (TREE / "src/cmd/version.c").read_text()
    sources = [*(TREE / "src").rglob("*.c"), *(TREE / "packaging/portable").glob("*.c")]
    names = {n for path in sources for n in re.findall(r'"(lib[\w.+-]+\.so[\w.]*)"', path.read_text())}
    assert {"libcairo.so.2", "libcurl.so.4"} <= names
    assert [n for n in sorted(names) if n not in told] == []


TOUR = str(TREE / "docs/example/tour.assay")


@pytest.mark.parametrize("library, command, debian, fedora", [
    ("libcairo.so.2", ["plot", TOUR, "-o", "x.png"], "libcairo2", "cairo"),
    ("libjpeg.so.62", ["plot", TOUR, "-o", "x.jpg"], "libjpeg62-turbo", "libjpeg-turbo"),
    ("libarchive.so.13", ["convert", TOUR, "x.zip"], "libarchive13", "libarchive"),
    ("libcurl.so.4", ["once", "http://127.0.0.1:1/metrics"], "libcurl4", "libcurl"),
    ("libcurl.so.4", ["fleet", "--engine", "http://127.0.0.1:1"], "libcurl4", "libcurl"),
    ("libyaml-0.so.2", ["serve", TOUR, "--listen", "127.0.0.1:0", "--web-config-file", "web.yml"], "libyaml-0-2", "libyaml"),
    ("libmicrohttpd.so.12", ["serve", TOUR, "--listen", "127.0.0.1:0"], "libmicrohttpd12", "libmicrohttpd"),
])
def test_library_that_is_absent(program, tmp_path, library, command, debian, fedora):
    """The loader stops at a file that is no library. The message names it, and what to install on each kind of system."""
    for name in {library, library.replace("libcurl", "libcurl-gnutls")}:
        (tmp_path / name).touch()
    (tmp_path / "web.yml").write_text("basic_auth_users: {}\n")
    done = subprocess.run([program, *command], cwd=tmp_path, capture_output=True, text=True, check=False, timeout=30,
                          env={"LD_LIBRARY_PATH": str(tmp_path), "HOME": str(tmp_path)})
    assert done.returncode in (1, 2, 3) and library.split(".")[0].split("-")[0] in done.stderr.splitlines()[0], done.stderr
    assert f"install {debian} (Debian, Ubuntu) or {fedora} (Fedora, Rocky)" in done.stderr


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


@pytest.mark.skipif("SANITIZED" in os.environ, reason="a sanitizer asks for more")
@pytest.mark.parametrize("name", ["assay", "libassay.so.0"])
def test_nothing_asks_for_a_new_glibc(program, name):
    """What the ordinary build asks of glibc beyond 2.28 has a wrapper in the portable one."""
    wrapped = set(re.findall(r"'(\w+)'", re.search(r"wrapped = \[(.*?)\]", (TREE / "packaging/portable/meson.build").read_text(), re.S)[1]))
    asked = {symbol for version, symbol in elf.symbols(pathlib.Path(program).parent / name) if version > elf.NEWEST}
    assert asked - wrapped <= {"__libc_start_main"}


LINKED = {"libinih.a", "libjansson.a", "libmicrohttpd.a", "libtinfo.a", "libsqlite3.a", "libgcc.a", "libc_nonshared.a"}


@pytest.mark.parametrize("archives, says, why", [
    (LINKED, [], "all that is listed"),
    (LINKED | {"libncursesw.a"}, [], "two archives of one package"),
    (LINKED | {"libz.a"}, ["libz.a is linked in and not listed"], "a library without its notice"),
    (LINKED - {"libmicrohttpd.a"}, ["libmicrohttpd-dev is listed and not linked in"], "one that the build did not find"),
])
def test_bill_of_materials_is_what_is_linked_in(archives, says, why):
    assert release_sbom.complaints(archives) == says, why


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


def broken_links(top):
    """Links of a folder's README and documents to files that are not there."""
    pages = [top / "README.md", *(top / "docs").glob("*.md")]
    assert len(pages) > 10
    links = [(page, link) for page in pages for link in re.findall(r"\]\(([^):#]+)[^):]*\)", page.read_text())]
    return [f"{page.name}: {link}" for page, link in links if not (page.parent / link).exists()]


def test_documents_of_a_release(unpacked, tmp_path):
    """The links of what people read hold where it was unpacked and where it is installed; notices bring the LGPL's text."""
    top = tmp_path / "release"
    (unpacked / "share/doc/assay").mkdir(parents=True)
    release.arrange(unpacked, TREE, top)
    assert broken_links(top) == []
    assert install(top, tmp_path / "prefix", home=tmp_path).returncode == 0
    assert broken_links(tmp_path / "prefix/share/doc/assay") == []
    notices = (tmp_path / "prefix/share/doc/assay/THIRD-PARTY.txt").read_text()
    assert "GNU LESSER GENERAL PUBLIC LICENSE" in notices and "END OF TERMS AND CONDITIONS" in notices


def test_install_over_an_older_one(unpacked, tmp_path):
    """What the new one has not goes away; what CDPATH says is not looked at."""
    gone = unpacked / "share/assay/old.csv"
    gone.touch()
    prefix = tmp_path / "a prefix"
    assert install(unpacked, prefix, home=tmp_path).returncode == 0
    gone.unlink()
    done = subprocess.run([f"{unpacked.name}/install.sh", "a prefix"], cwd=tmp_path, capture_output=True, text=True, check=False,
                          env={"HOME": str(tmp_path), "PATH": os.environ["PATH"], "CDPATH": str(tmp_path)})
    assert done.returncode == 0, done.stderr
    assert not (prefix / "share/assay/old.csv").exists() and (prefix / "bin/assay").exists()
    assert not list(prefix.rglob("*.new"))


def test_install_that_fails_leaves_the_older_one(unpacked, tmp_path):
    prefix = tmp_path / "prefix"
    assert install(unpacked, prefix, home=tmp_path).returncode == 0
    before = {p for p in prefix.rglob("*") if p.is_file()}
    (tmp_path / "full").mkdir()
    (tmp_path / "full/cp").write_text('#!/bin/sh\ncase $3 in */tour.assay.new) exit 1 ;; esac\nexec /bin/cp "$@"\n')
    (tmp_path / "full/cp").chmod(0o755)
    done = subprocess.run([unpacked / "install.sh", prefix], capture_output=True, text=True, check=False,
                          env={"HOME": str(tmp_path), "PATH": f"{tmp_path}/full:{os.environ['PATH']}"})
    assert done.returncode != 0
    assert before <= set(prefix.rglob("*"))
    assert install(unpacked, "--remove", prefix, home=tmp_path).returncode == 0
    assert not (prefix / "bin/assay").exists()


def test_install(unpacked, tmp_path):
    """By default below ~/.local, where the tour is found, and --remove leaves nothing."""
    home = tmp_path / "a home"
    home.mkdir()
    done = install(unpacked, home=home)
    assert done.returncode == 0 and "export PATH=" in done.stdout, done.stderr
    imported = "import assay, sys; print(assay.__file__)"
    done = subprocess.run([sys.executable, "-c", imported], capture_output=True, text=True, check=True, env={"HOME": str(home)})
    assert done.stdout.startswith(str(home)) and list(home.rglob("*.pyc"))
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


@pytest.mark.parametrize("path", ["dev", "packaging/debian/control", "packaging/rpm/assay.spec", "packaging/recipes/spack/package.py",
                                  "packaging/recipes/assay-0.2.0.eb", "packaging/recipes/conda/meta.yaml"])
def test_recipes_have_what_serve_needs(path):
    """Without one of these libraries `serve` is left out of the build, silently."""
    needed = re.findall(r"dependency\('(?:lib)?(\w+).*get_option\('serve'\)", (TREE / "meson.build").read_text())
    assert needed == ["microhttpd", "zlib", "yaml", "nghttp2"]
    text = (TREE / path).read_text().lower()
    assert [name for name in needed if name not in text] == []


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


# A system with dnf: rpm knows what dnf installed; dnf has all packages but some. meson and ninja make a program.
FAKES = {
    "rpm": 'grep -qx "$2" "$STATE/installed"',
    "dnf": 'for name; do :; done; echo "$name" >>"$STATE/asked"; ! grep -qx "$name" "$STATE/absent" && echo "$name" >>"$STATE/installed"',
    "sudo": 'exec "$@"',
    "meson": 'mkdir -p build && touch build/build.ninja',
    "ninja": "printf '#!/bin/sh\\necho built \"$@\"\\n' >build/assay && chmod 755 build/assay",
}


@pytest.fixture
def rocky(tmp_path):
    """Runs ./dev there; gives what it did and the packages that dnf was asked for."""
    tools = tmp_path / "bin"
    tools.mkdir()
    for name in ("dirname", "sed", "id", "nproc", "grep", "mkdir", "touch", "chmod", "cat"):
        os.symlink(shutil.which(name), tools / name)
    for name, script in FAKES.items():
        (tools / name).write_text(f"#!/bin/sh\n{script}\n")
        (tools / name).chmod(0o755)
    shutil.copy(TREE / "dev", tmp_path / "dev")

    def run(*absent):
        (tmp_path / "absent").write_text("".join(f"{name}\n" for name in absent))
        for name in ("installed", "asked"):
            (tmp_path / name).touch()
        done = subprocess.run(["/bin/sh", tmp_path / "dev", "run", "tour"], capture_output=True, text=True, check=False,
                              env={"PATH": str(tools), "STATE": str(tmp_path), "TMPDIR": str(tmp_path)})
        return done, (tmp_path / "asked").read_text().split()

    return run


def rpms():
    script = (TREE / "dev").read_text()
    return [" ".join(re.search(rf'^{name}="(.+?)"', script, re.M | re.S)[1].split()).split() for name in ("BUILD_RPMS", "FEATURE_RPMS")]


def test_dev_with_dnf(rocky):
    """Everything is asked for once, then it builds and runs; the second time nothing is asked for."""
    done, asked = rocky()
    assert (done.returncode, done.stdout) == (0, "built tour\n") and asked == sum(rpms(), [])
    done, asked = rocky()
    assert done.returncode == 0 and asked == sum(rpms(), []) and "installing" not in done.stderr


def test_dev_with_dnf_and_without_a_feature(rocky):
    done, _ = rocky("libmicrohttpd-devel")
    assert (done.returncode, done.stdout) == (0, "built tour\n")
    assert "not available here: libmicrohttpd-devel; what needs them is left out" in done.stderr


def test_dev_with_dnf_and_without_what_it_needs(rocky):
    done, _ = rocky("inih-devel")
    assert done.returncode == 1 and "could not install: inih-devel" in done.stderr and "epel-release" in done.stderr
