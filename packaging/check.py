"""Proves a release: same bytes twice, runs from anywhere, installs, goes away, starts fast."""
import filecmp
import os
import pathlib
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time

import dist

MOST_BYTES = 6_000_000
MOST_START_S = 0.002
SMOKE = pathlib.Path(__file__).resolve().parent / "smoke.sh"


def fine(what):
    print(f"check: {what}")


def must(truth, what):
    if not truth:
        sys.exit(f"check: {what}")


def again(commit, tarball, wheel):
    """A second build: another folder, another hour, another umask, no compiler cache."""
    with tempfile.TemporaryDirectory(prefix="assay-another-folder-") as where:
        old = os.umask(0o077)
        os.environ.update(CCACHE_DISABLE="1", TZ="Pacific/Auckland", LC_ALL="C")
        try:
            second = dist.make(commit, pathlib.Path(where) / "out", work=where)
        finally:
            os.umask(old)
        for one, two in zip((tarball, wheel), second):
            must(filecmp.cmp(one, two, shallow=False), f"two builds of {one.name} differ")
    fine("two builds are identical, byte for byte")


def start_times(commands, rounds=200):
    """What each takes to start and end, in turns. Of a tenth of the rounds: others use the machine too."""
    times = [[] for _ in commands]
    for _ in range(rounds):
        for command, kept in zip(commands, times):
            began = time.perf_counter()
            subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
            kept.append(time.perf_counter() - began)
    return [sorted(kept)[rounds // 10] for kept in times]


def footprint(tarball, program, folder):
    """Size and start, beside a program that does nothing."""
    must(tarball.stat().st_size <= MOST_BYTES, f"{tarball.name} is larger than {MOST_BYTES / 1e6:.0f} MB")
    empty = folder / "empty"
    subprocess.run(["cc", "-O2", "-x", "c", "-", "-o", empty], input="int main(void) { return 0; }", text=True, check=True)
    own, floor = start_times([[program, "--version"], [empty]])
    beyond = own - floor
    must(beyond <= MOST_START_S, f"starts {beyond * 1e3:.1f} ms later than an empty program")
    fine(f"{tarball.stat().st_size / 1e6:.1f} MB; starts {beyond * 1e3:.2f} ms later than an empty program")


def smoke(program, tour, folder, before=()):
    done = subprocess.run([*before, "sh", SMOKE, program, tour], cwd=folder, capture_output=True, text=True, check=False)
    must(done.returncode == 0, f"smoke test failed\n{done.stdout}{done.stderr}")


def installs(top, folder):
    """install.sh twice, smoke, and nothing left after --remove."""
    prefix = folder / "a prefix"
    for _ in range(2):
        subprocess.run([top / "install.sh", prefix], check=True, capture_output=True)
    here = folder / "there"
    here.mkdir()
    smoke(prefix / "bin/assay", prefix / "share/assay/h200-tour.csv", here)
    subprocess.run([top / "install.sh", "--remove", prefix], check=True, capture_output=True)
    left = [p for p in prefix.rglob("*") if not p.is_dir()]
    must(not left, f"left after --remove: {left}")
    fine("install.sh installs, replaces and removes")


def wheel_works(wheel, folder):
    """In a fresh environment, without the net."""
    venv = folder / "venv"
    subprocess.run([sys.executable, "-m", "venv", venv], check=True)
    python = venv / "bin/python"
    subprocess.run([python, "-m", "pip", "install", "-q", "--no-index", wheel], check=True)
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(folder)}
    said = subprocess.run([python, "-m", "assay", "--version"], check=True, capture_output=True, text=True, env=environment, cwd="/")
    must(said.stdout.startswith("assay "), "python -m assay does not run")
    script = ("import assay, assay._lib, sys; p = sys.prefix + '/share/assay/tour.assay'\n"
              "print(assay._lib.lib()._found._name, len(assay.open_session(p).report()) > 100)")
    said = subprocess.run([python, "-c", script], check=True, capture_output=True, text=True, env=environment, cwd="/")
    must(said.stdout.startswith(str(venv)) and "True" in said.stdout, f"the wheel's library is not used: {said.stdout}")
    subprocess.run([python, "-m", "pip", "uninstall", "-q", "-y", "assay"], check=True)
    must(not (venv / "bin/assay").exists(), "pip uninstall leaves the program")
    fine("the wheel installs, runs and goes away")


def in_root(tarball, root):
    """In a chroot, as nobody, without a network."""
    place = pathlib.Path(tempfile.mkdtemp(prefix="assay-", dir=root / "tmp"))
    try:
        with tarfile.open(tarball) as archive:
            archive.extractall(place)
        shutil.copy(SMOKE, place / "smoke.sh")
        top = next(place.glob("assay-*"))
        for path in (place, *place.rglob("*")):
            os.chown(path, 65534, 65534, follow_symlinks=False)
        inside = pathlib.Path("/") / place.relative_to(root)
        script = (f"cd {inside} && HOME={inside} sh smoke.sh {inside}/{top.name}/bin/assay {inside}/{top.name}/share/assay/h200-tour.csv"
                  f" && HOME={inside} {inside}/{top.name}/install.sh && {inside}/.local/bin/assay tour >/dev/null")
        done = subprocess.run(["unshare", "--net", "--mount", "--pid", "--fork", f"--mount-proc={root}/proc",
                               "chroot", "--userspec=65534:65534", root, "sh", "-c", script],
                              capture_output=True, text=True, check=False, timeout=120)
        must(done.returncode == 0 and "smoke: fine" in done.stdout, f"{root}: {done.stdout}{done.stderr}")
        glibc = subprocess.run(["chroot", root, "ldd", "--version"], capture_output=True, text=True, check=False).stdout
        fine(f"{root.name} ({glibc.splitlines()[0].rpartition(')')[2].strip() if glibc else '?'}): runs as nobody, without a network")
    finally:
        shutil.rmtree(place)


def prove(commit, tarball, wheel, roots):
    """All of it; ends the program with a line at the first failure."""
    with tempfile.TemporaryDirectory(prefix="assay-check-") as folder:
        folder = pathlib.Path(folder)
        with tarfile.open(tarball) as archive:
            archive.extractall(folder)
        top = next(folder.glob("assay-*"))
        footprint(tarball, top / "bin/assay", folder)
        smoke(top / "bin/assay", top / "share/assay/h200-tour.csv", folder)
        installs(top, folder)
        wheel_works(wheel, folder)
    for root in roots:
        in_root(tarball, root)
    again(commit, tarball, wheel)
