"""Prints the release notes: what CHANGELOG.md says of a version, and the checksums when they are made."""
import pathlib
import re
import sys

TREE = pathlib.Path(__file__).resolve().parent.parent


def section(text, version):
    """The text below the heading of a version, else below Unreleased; None when there is neither."""
    for name in (re.escape(version), "Unreleased"):
        found = re.search(rf"^## {name}\b[^\n]*\n(.*?)(?=^## |\Z)", text, re.M | re.S)
        if found:
            return found[1].strip()
    return None


def main():
    version = sys.argv[1] if len(sys.argv) > 1 else re.search(r"^  version: '(.+)'", (TREE / "meson.build").read_text(), re.M)[1]
    text = section((TREE / "CHANGELOG.md").read_text(), version)
    if text is None:
        sys.exit(f"notes: CHANGELOG.md says nothing of {version}")
    print(f"# assay {version}\n\n{text}")
    sums = TREE / "build-dist/SHA256SUMS"
    if sums.exists():
        print(f"\n## SHA-256\n\n```\n{sums.read_text()}```")


if __name__ == "__main__":
    main()
