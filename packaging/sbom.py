"""The libraries that are linked in: their notices, and a bill of materials (SPDX 2.3)."""
import datetime
import hashlib
import json
import pathlib
import subprocess

# Debian's package, licence
LINKED = [
    ("libinih-dev", "BSD-3-Clause"),
    ("libjansson-dev", "MIT"),
    ("libmicrohttpd-dev", "LGPL-2.1-or-later"),
    ("libncurses-dev", "X11-distribute-modifications-variant"),
    ("libsqlite3-dev", "blessing"),
]


def _version(package):
    """The version of a Debian package without epoch and revision."""
    done = subprocess.run(["dpkg-query", "-W", "-f=${Version}", package], capture_output=True, text=True, check=False)
    return done.stdout.split(":")[-1].rsplit("-", 1)[0].split("+")[0] or "unknown"


def notices(docs=pathlib.Path("/usr/share/doc")):
    """The text of THIRD-PARTY.txt."""
    out = ["These libraries are linked into bin/assay and lib/libassay.so.0. Their notices follow.", ""]
    out += [f"  {package[:-4]} {_version(package)} ({licence})" for package, licence in LINKED]
    for package, _ in LINKED:
        out += ["", "=" * 78, package[:-4], "=" * 78, "", (docs / package / "copyright").read_text(encoding="utf-8").rstrip()]
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
    parts = [_package(package[:-4], _version(package), licence) for package, licence in LINKED]
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
