"""A folder includes only what the map in docs/ARCHITECTURE.md allows; third-party headers stay in their room."""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
ARCHITECTURE = ROOT / "docs" / "ARCHITECTURE.md"

# Headers of libraries, and the files that may include them.
ROOMS = {
    "curses": r"present/tui/screen\.c", "ncurses": r"present/tui/screen\.c", "curl/": r"read/prometheus/curl_api\.[ch]",
    "sqlite3": r"session/", "cairo": r"present/chart/", "jpeglib": r"present/chart/jpeg\.c", "jansson": r"(formats/|session/)", "ini.h": r"config/config\.c",
    "archive": r"formats/",
}


def allowed():
    """The table under 'What a folder may include', as {folder: set of folders}."""
    rows = {}
    for line in ARCHITECTURE.read_text().splitlines():
        match = re.match(r"\| `(\w+)` \| (.*) \|$", line)
        if match:
            names = set(re.findall(r"`(\w+)`", match.group(2)))
            rows[match.group(1)] = {"*"} if "everything" in match.group(2) else names
    return rows


def complaints():
    table = allowed()
    for path in sorted((ROOT / "src").rglob("*.[ch]")):
        inside = path.relative_to(ROOT / "src")
        folder = inside.parts[0]
        if folder not in table:
            yield f"{inside}: the folder '{folder}' is not in the table of docs/ARCHITECTURE.md"
            continue
        for name in re.findall(r'^#include ["<]([^">]+)[">]', path.read_text(), re.M):
            for header, room in ROOMS.items():
                if name.startswith(header) and not re.match(room, str(inside)):
                    yield f"{inside}: <{name}> belongs into {room}"
            to = name.split("/")[0]
            if to in table and to != folder and not table[folder] & {to, "*"}:
                yield f"{inside}: includes {name}, but '{folder}' may not include '{to}'"


if __name__ == "__main__":
    found = list(complaints())
    print("\n".join(found) or "layers: fine")
    sys.exit(1 if found else 0)
