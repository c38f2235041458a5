"""Makes a release of the last commit: tarball, wheel, SBOM and SHA256SUMS.

The same commit gives the same bytes, whatever the folder and the hour.
"""
import argparse
import hashlib
import importlib.util
import io
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
TREE = HERE.parent
sys.path.insert(0, str(HERE))

import elf  # noqa: E402  pylint: disable=wrong-import-position
import sbom  # noqa: E402  pylint: disable=wrong-import-position

PREFIX = "/usr/local"
TEXTS = ("LICENSE", "README.md", "CHANGELOG.md", "SECURITY.md", "docs", "deploy")


def call(*args, **more):
    """Runs a command; what it says is shown only when it fails."""
    done = subprocess.run([str(a) for a in args], capture_output=True, text=True, check=False, **more)
    if done.returncode:
        sys.exit(f"dist: {' '.join(map(str, args[:4]))} failed\n{done.stdout[-4000:]}{done.stderr[-4000:]}")
    return done.stdout


def version_of(tree):
    return re.search(r"^  version: '(.+)'", (tree / "meson.build").read_text(), re.M)[1]


def last_commit():
    if call("git", "status", "--porcelain", cwd=TREE).strip():
        print("dist: uncommitted changes are left out", file=sys.stderr)
    return call("git", "rev-parse", "HEAD", cwd=TREE).strip()


def commit_time(commit):
    """Seconds since 1970."""
    return int(call("git", "log", "-1", "--format=%ct", commit, cwd=TREE))


def take_source(commit, target):
    """The committed tree: what lies around uncommitted must not change the bytes."""
    data = subprocess.run(["git", "archive", commit], cwd=TREE, check=True, capture_output=True).stdout
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        archive.extractall(target)


def build(source, folder, destination, setup, flags):
    """Builds the source and installs it below destination/usr/local."""
    maps = f"-ffile-prefix-map={source}=. -ffile-prefix-map={folder}=. -ffile-prefix-map={os.path.relpath(source, folder)}=."
    call("meson", "setup", folder, source, "-Dportable=true", "-Dauto_features=enabled", "-Dbuildtype=release",
         f"--prefix={PREFIX}", "--libdir=lib", f"-Dpython.purelibdir={PREFIX}/lib/python", "-Dpkgconfig.relocatable=true", "-Dstrip=true",
         f"-Dc_args={maps} {flags}", *setup)
    call("ninja", "-C", folder)
    call("meson", "install", "-C", folder, "--no-rebuild", "--destdir", destination)


def linked_in(folder):
    """Names of the archives from outside that the program or the library has parts of, by the linker's word."""
    names = set()
    for target in ("assay", next(folder.glob("libassay.so.*.*.*[0-9]")).name):
        link = call("ninja", "-t", "commands", target, cwd=folder).splitlines()[-1]
        call("sh", "-c", f"{link} -Wl,-Map=linked.map -o linked", cwd=folder)
        names |= {pathlib.Path(path).name for path in re.findall(r"^(/\S+\.a)\(", (folder / "linked.map").read_text(), re.M)}
    return names


def arrange(installed, source, top):
    """The folder that people unpack. What they read is installed too, and its links hold in both places."""
    shutil.copytree(installed, top, symlinks=True)
    texts = top / "share/doc/assay"
    for name in TEXTS:
        (shutil.copytree if (source / name).is_dir() else shutil.copy)(source / name, texts / name)
    (texts / "THIRD-PARTY.txt").write_text(sbom.notices(), encoding="utf-8")
    for name in (*TEXTS, "THIRD-PARTY.txt"):
        (top / name).symlink_to((texts / name).relative_to(top))
    shutil.copy(source / "packaging/install.sh", top / "install.sh")


def clean(entry, epoch):
    """Nothing of the builder in a member of the archive."""
    entry.uid = entry.gid = 0
    entry.uname = entry.gname = "root"
    entry.mtime = epoch
    entry.mode = 0o755 if entry.isdir() or entry.issym() or entry.mode & 0o100 else 0o644
    return entry


def pack(top, target, epoch):
    """A tarball in the order of names."""
    plain = target.with_suffix("")
    with tarfile.open(plain, "w", format=tarfile.USTAR_FORMAT) as archive:
        for path in [top, *sorted(top.rglob("*"))]:
            archive.add(path, str(path.relative_to(top.parent)), recursive=False, filter=lambda e: clean(e, epoch))
    target.unlink(missing_ok=True)
    call("xz", "-9e", "-T1", plain)


def make_wheel(source, top, out, machine, epoch):
    """The Python package with the library and the program inside."""
    os.environ["SOURCE_DATE_EPOCH"] = str(epoch)
    spec = importlib.util.spec_from_file_location("backend", source / "python/backend.py")
    backend = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(backend)
    data = f"{backend.NAME}.data"
    more = {
        "assay/libassay.so.0": (top / "lib/libassay.so.0").read_bytes(),
        f"{data}/scripts/assay": (top / "bin/assay").read_bytes(),
        f"{data}/data/share/assay/tour.assay": (top / "share/assay/tour.assay").read_bytes(),
    }
    notes = {"LICENSE": (top / "LICENSE").read_bytes(), "THIRD-PARTY.txt": (top / "THIRD-PARTY.txt").read_bytes()}
    return backend.write_binary_wheel(out, more, notes, f"py3-none-manylinux_2_28_{machine}")


def write_sums(out):
    """SHA256SUMS of all that lies beside it."""
    lines = [f"{hashlib.sha256(p.read_bytes()).hexdigest()}  {p.name}\n" for p in sorted(out.iterdir())
             if p.is_file() and p.name != "SHA256SUMS"]
    (out / "SHA256SUMS").write_text("".join(lines))


def make(commit, out, machine=os.uname().machine, cross_setup=((), ""), work=None):
    """Everything for one machine, into out. Gives the paths of tarball and wheel."""
    out.mkdir(parents=True, exist_ok=True)
    epoch = commit_time(commit)
    with tempfile.TemporaryDirectory(prefix="assay-dist-", dir=work) as where:
        where = pathlib.Path(where)
        source = where / "source"
        take_source(commit, source)
        version = version_of(source)
        name = f"assay-{version}-linux-{machine}"
        build(source, where / "build", where / "root", *cross_setup)
        top = where / name
        arrange(where / "root" / PREFIX[1:], source, top)
        bad = elf.complaints(top / "bin/assay") + elf.complaints(top / "lib/libassay.so.0")
        bad += sbom.complaints(linked_in(where / "build"))
        if bad:
            sys.exit("dist: not to be released\n  " + "\n  ".join(b.replace(str(top) + "/", "") for b in bad))
        tarball = out / f"{name}.tar.xz"
        pack(top, tarball, epoch)
        wheel = out / make_wheel(source, top, str(out), machine, epoch)
        (out / f"{name}.spdx.json").write_text(sbom.document(version, epoch, tarball))
    write_sums(out)
    return tarball, wheel


def main():
    import cross  # pylint: disable=import-outside-toplevel
    import packages  # pylint: disable=import-outside-toplevel
    parser = argparse.ArgumentParser(prog="./dev dist", description="Makes a release of the last commit.")
    parser.add_argument("-o", "--output", type=pathlib.Path, default=TREE / "build-dist", help="folder (build-dist)")
    parser.add_argument("--aarch64", action="store_true", help="for aarch64, with Debian's cross compiler")
    parser.add_argument("--deb", action="store_true", help="Debian packages instead")
    parser.add_argument("--rpm", action="store_true", help="RPM packages instead")
    parser.add_argument("--check", action="store_true", help="prove it: build twice, install, run, remove")
    parser.add_argument("--root", action="append", default=[], type=pathlib.Path, metavar="FOLDER",
                        help="with --check: run it in this chroot too (as root; may be repeated)")
    args = parser.parse_args()
    commit = last_commit()
    args.output.mkdir(parents=True, exist_ok=True)
    if args.deb or args.rpm:
        made = packages.debian(commit, args.output) if args.deb else []
        if args.check:
            for root in args.root:
                packages.debian_in_root(made, root)
        made += packages.rpm(commit, args.output) if args.rpm else []
        write_sums(args.output)
    elif args.aarch64:
        made = make(commit, args.output, "aarch64", cross.setup(TREE / "build-aarch64"))
    else:
        made = make(commit, args.output)
    for path in made:
        print(f"{path.relative_to(TREE) if path.is_relative_to(TREE) else path}  {path.stat().st_size / 1e6:.1f} MB", flush=True)
    if args.check and not (args.deb or args.rpm or args.aarch64):
        import check  # pylint: disable=import-outside-toplevel
        check.prove(commit, *made, args.root)


if __name__ == "__main__":
    main()
