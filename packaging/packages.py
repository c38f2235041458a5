"""Debian and RPM packages of the last commit."""
import email.utils
import os
import pathlib
import re
import shutil
import subprocess
import tempfile

import dist

# What lintian may say, and why.
EXCEPTIONS = {
    "bogus-mail-host": "the address of the maintainers is not a mailbox",
    "initial-upload-closes-no-bugs": "the package is not uploaded to Debian",
    "no-manual-page": "'assay serve' has assay-serve(1)",
}


def date_of(epoch):
    return email.utils.formatdate(epoch)


def debian(commit, out):
    """The .deb files, into out."""
    epoch = dist.commit_time(commit)
    with tempfile.TemporaryDirectory(prefix="assay-deb-") as where:
        tree = pathlib.Path(where) / "assay"
        dist.take_source(commit, tree)
        shutil.copytree(tree / "packaging/debian", tree / "debian")
        text = (tree / "debian/changelog.in").read_text()
        text = text.replace("@VERSION@", dist.version_of(tree)).replace("@DATE@", date_of(epoch))
        (tree / "debian/changelog").write_text(text)
        (tree / "debian/changelog.in").unlink()
        dist.call("dpkg-buildpackage", "-us", "-uc", "-b", cwd=tree,
                  env={**os.environ, "SOURCE_DATE_EPOCH": str(epoch), "PATH": "/usr/sbin:/usr/bin:/sbin:/bin"})
        made = []
        for path in sorted(pathlib.Path(where).glob("*.deb")):
            if "-dbgsym" not in path.name:
                made.append(pathlib.Path(shutil.copy(path, out)))
        changes = next(pathlib.Path(where).glob("*.changes"))
        lint(changes)
    return made


def lint(changes):
    """lintian's errors and warnings but for EXCEPTIONS."""
    if not shutil.which("lintian"):
        print("dist: lintian is not installed: the packages are not checked")
        return
    said = subprocess.run(["lintian", "--allow-root", "--fail-on", "none", changes], capture_output=True, text=True,
                          check=False).stdout
    bad = [line for line in said.splitlines() if line[:2] in ("E:", "W:") and line.split()[2] not in EXCEPTIONS]
    if bad:
        raise SystemExit("dist: lintian says\n  " + "\n  ".join(bad))
    print("dist: lintian has nothing to say but: " + "; ".join(EXCEPTIONS))


def older(deb, folder):
    """The same package under a lower version, to upgrade from."""
    tree = folder / "older"
    dist.call("dpkg-deb", "-R", deb, tree)
    control = tree / "DEBIAN/control"
    text = control.read_text()
    version = re.search(r"^Version: (.*)$", text, re.M)[1]
    control.write_text(re.sub(rf"(^Version: |\([>]?= ){re.escape(version)}", rf"\g<1>0.0.9+{version}", text, flags=re.M))
    target = folder / ("old-" + deb.name)
    dist.call("dpkg-deb", "-b", tree, target)
    shutil.rmtree(tree)
    return target


def listing(root):
    """What lies in a root, but for what apt and dpkg keep for themselves."""
    skipped = ("tmp", "run", "proc", "dev", "sys", "var/cache", "var/log", "var/lib/apt", "var/lib/dpkg")
    return {str(p.relative_to(root)) for p in root.rglob("*") if not str(p.relative_to(root)).startswith(skipped)
            and "__pycache__" not in p.parts and not p.name.endswith("-")}


def debian_in_root(debs, root):
    """Installs, upgrades, tries and purges the packages in a chroot of their release, whose apt works."""
    def inside(*args, **more):
        return dist.call("chroot", root, "env", "DEBIAN_FRONTEND=noninteractive", "LC_ALL=C.UTF-8", *args, **more)

    place = pathlib.Path(tempfile.mkdtemp(prefix="assay-deb-", dir=root / "tmp"))
    place.chmod(0o755)
    names = [deb.name.split("_")[0] for deb in debs]
    try:
        old = [older(deb, place) for deb in debs]
        new = [pathlib.Path(shutil.copy(deb, place)) for deb in debs]
        shutil.copytree(dist.TREE / "packaging", place / "packaging")
        inside("apt-get", "update", "-qq")
        depends = sorted({d for deb in debs for d in depends_of(deb)} - set(names))
        inside("apt-get", "install", "-y", "-qq", "--no-install-recommends", *depends)
        before = listing(root)
        for files in (old, new):
            inside("apt-get", "install", "-y", "-qq", "--no-install-recommends", *(f"/tmp/{place.name}/{f.name}" for f in files))
        work = place / "work"
        work.mkdir()
        os.chown(work, 65534, 65534)
        script = f"cd /tmp/{place.name} && AUTOPKGTEST_TMP=/tmp/{place.name}/work sh packaging/debian/tests/smoke"
        dist.call("chroot", "--userspec=65534:65534", root, "sh", "-c", script)
        inside("id", "assay-serve")
        inside("apt-get", "purge", "-y", "-qq", *names)
        left = sorted(listing(root) - before)
        if left or "assay" in (root / "etc/passwd").read_text():
            raise SystemExit(f"dist: {root.name}: left after a purge: {left}")
        print(f"dist: {root.name}: the packages install, upgrade, run and leave nothing")
    finally:
        shutil.rmtree(place)


def depends_of(deb):
    """The first alternative, for this release, of each dependency."""
    said = dist.call("dpkg-deb", "-f", deb, "Depends")
    return [part.split("|")[-1].split("(")[0].strip() for part in said.split(",") if part.strip()]


def rpm(commit, out):
    """The .rpm files, into out. Where rpm is not the system's own, its dependencies are not known to it."""
    foreign = [] if pathlib.Path("/etc/redhat-release").exists() else ["--nodeps"]
    with tempfile.TemporaryDirectory(prefix="assay-rpm-") as where:
        where = pathlib.Path(where)
        tree = where / "tree"
        dist.take_source(commit, tree)
        version = dist.version_of(tree)
        (where / "SOURCES").mkdir()
        dist.call("git", "archive", f"--prefix=assay-{version}/", "-o", where / f"SOURCES/assay-{version}.tar.gz", commit,
                  cwd=dist.TREE)
        dist.call("rpmbuild", "-bb", *foreign, "--define", f"_topdir {where}", "--define", f"assay_version {version}",
                  "--define", f"_libdir /usr/lib{'64' if os.uname().machine == 'x86_64' else ''}",
                  tree / "packaging/rpm/assay.spec", env={**os.environ, "PATH": "/usr/sbin:/usr/bin:/sbin:/bin"})
        return [pathlib.Path(shutil.copy(p, out)) for p in sorted((where / "RPMS").rglob("*.rpm"))]
