"""Debian and RPM packages of the last commit."""
import email.utils
import os
import pathlib
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
