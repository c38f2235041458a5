"""The libraries that are linked in: their notices, and a bill of materials (SPDX 2.3)."""
import datetime
import hashlib
import json
import pathlib
import subprocess

# Debian's package, licence, archives that it brings
LINKED = [
    ("libinih-dev", "BSD-3-Clause", {"libinih.a"}),
    ("libjansson-dev", "MIT", {"libjansson.a"}),
    ("libmicrohttpd-dev", "LGPL-2.1-or-later", {"libmicrohttpd.a"}),
    ("libncurses-dev", "X11-distribute-modifications-variant", {"libncursesw.a", "libtinfo.a"}),
    ("libsqlite3-dev", "blessing", {"libsqlite3.a"}),
    ("gcc", "GPL-3.0-or-later WITH GCC-exception-3.1", {"libgcc.a"}),
    ("libc6-dev", "LGPL-2.1-or-later WITH GCC-exception-2.0", {"libc_nonshared.a"}),
]
# Names, and notices, of those whose licence asks for none in programs that they are part of.
RUNTIME = {
    "gcc": ("libgcc", "Some functions of libgcc, under the GCC Runtime Library Exception 3.1: programs of any licence may contain them."),
    "libc6-dev": ("glibc", "Some functions of glibc that are always linked in (atexit), with the permission to link them with any program."),
}
# What section 6 of the LGPL asks for.
RELINK = ["libmicrohttpd is free software under the GNU Lesser General Public License. You may change it and link",
          "assay with it again: './dev dist' in the source of assay does so with the library that is installed."]


def complaints(archives):
    """What is linked in and not listed, or listed and not linked in."""
    unlisted = set(archives).difference(*(names for _, _, names in LINKED))
    absent = [package for package, _, names in LINKED if not names & set(archives)]
    return [f"{name} is linked in and not listed" for name in sorted(unlisted)] + [f"{name} is listed and not linked in" for name in absent]


def _name(package):
    return RUNTIME[package][0] if package in RUNTIME else package.removesuffix("-dev")


def _version(package):
    """The version of a Debian package without epoch and revision."""
    done = subprocess.run(["dpkg-query", "-W", "-f=${Version}", package], capture_output=True, text=True, check=False)
    return done.stdout.split(":")[-1].rsplit("-", 1)[0].split("+")[0] or "unknown"


def _part(title, text):
    return ["", "=" * 78, title, "=" * 78, "", text.rstrip()]


def notices(docs=pathlib.Path("/usr/share/doc"), licences=pathlib.Path("/usr/share/common-licenses")):
    """The text of THIRD-PARTY.txt. Debian's notices of the LGPL only point at its text: it comes after them."""
    out = ["These libraries are linked into bin/assay and lib/libassay.so.0. Their notices follow.", ""]
    out += [f"  {_name(package)} {_version(package)} ({licence})" for package, licence, _ in LINKED]
    out += ["", *RELINK]
    for package, _, _ in LINKED:
        text = RUNTIME[package][1] if package in RUNTIME else (docs / package / "copyright").read_text(encoding="utf-8")
        out += _part(_name(package), text)
    for licence in sorted({licence for package, licence, _ in LINKED if licence.startswith("LGPL-") and package not in RUNTIME}):
        out += _part(licence, (licences / licence.removesuffix("-or-later")).read_text(encoding="utf-8"))
    return "\n".join(out) + "\n"


def _package(name, version, licence, **more):
    return {"SPDXID": f"SPDXRef-{name}", "name": name, "versionInfo": version, "licenseConcluded": licence,
            "licenseDeclared": licence, "downloadLocation": "NOASSERTION", "copyrightText": "NOASSERTION",
            "filesAnalyzed": False, **more}


def document(version, epoch, artefact):
    """The bill of materials of one artefact, as text."""
    digest = hashlib.sha256(artefact.read_bytes()).hexdigest()
    own = _package("assay", version, "MIT", packageFileName=artefact.name,
                   checksums=[{"algorithm": "SHA256", "checksumValue": digest}])
    parts = [_package(_name(package), _version(package), licence) for package, licence, _ in LINKED]
    when = datetime.datetime.fromtimestamp(epoch, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    return json.dumps({
        "spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT",
        "name": artefact.name, "documentNamespace": f"https://spdx.org/spdxdocs/{artefact.name}-{digest}",
        "creationInfo": {"created": when, "creators": [f"Tool: assay-dist-{version}"]},
        "packages": [own, *parts],
        "relationships": [
            {"spdxElementId": "SPDXRef-DOCUMENT", "relationshipType": "DESCRIBES", "relatedSpdxElement": "SPDXRef-assay"},
            *({"spdxElementId": "SPDXRef-assay", "relationshipType": "STATIC_LINK", "relatedSpdxElement": p["SPDXID"]}
              for p in parts)],
    }, indent=1) + "\n"
