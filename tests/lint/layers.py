"""A folder includes only what the map in docs/ARCHITECTURE.md allows; third-party headers stay in their room."""
import os
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
ARCHITECTURE = ROOT / "docs" / "ARCHITECTURE.md"

# Headers of libraries, and the files that may include them.
ROOMS = {
    "curses.h": r"present/tui/terminfo\.c", "term.h": r"present/tui/terminfo\.c", "curl/curl.h": r"net/curl_api\.h",
    "sqlite3.h": r"(session/|serve/records\.c)", "cairo.h": r"present/chart/", "cairo-pdf.h": r"present/chart/", "jpeglib.h": r"present/chart/jpeg\.c",
    "emmintrin.h": r"formats/rows\.c", "jansson.h": r"(base/jsonin\.|formats/|session/|mcp/|fleet/answer\.c)", "ini.h": r"config/config\.c", "archive.h": r"formats/", "archive_entry.h": r"formats/",
    "microhttpd.h": r"serve/", "nghttp2/nghttp2.h": r"read/owners/kubelet\.c", "zlib.h": r"serve/libraries\.c", "yaml.h": r"serve/webconfig\.c", "crypt.h": r"serve/libraries\.c",
}
# The C library, POSIX and Linux.
SYSTEM = re.compile(r"(linux/\w+|sys/\w+|netinet/\w+|arpa/inet|assert|ctype|dirent|dlfcn|elf|endian|errno|fcntl|float|fnmatch|getopt|"
                    r"glob|gnu/libc-version|grp|inttypes|libgen|limits|locale|malloc|math|netdb|poll|pthread|pwd|regex|sched|semaphore|setjmp|"
                    r"signal|spawn|stdalign|stdarg|stdatomic|stdbool|stddef|stdint|stdio|stdlib|stdnoreturn|string|strings|termios|"
                    r"threads|time|unistd|wchar|wctype)\.h")
# Made by the build.
ELSEWHERE = {"version.h", "build_features.h"}
PUBLIC = "assay/assay.h"  # is what api/ offers; what lies below does not know it
# What may be included: only these are looked into, so nothing else may bring in more.
ENDINGS = (".h", ".def")
COMMENT = re.compile(r'//[^\n]*|/\*.*?\*/|("(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\')', re.S)
DIRECTIVE = re.compile(r"^\s*(?:#|%:|\?\?=)\s*(include\w*|import|embed)\b(.*)$", re.M)
NAME = re.compile(r'\s*(["<])([^">]+)[">]\s*')


def allowed():
    """The tables under 'What a folder may include', as {folder or subfolder: set of folders}; a long row goes on in the next."""
    rows = {}
    for line in ARCHITECTURE.read_text().splitlines():
        match = re.match(r"\| `([\w/]+)` \| (.*) \|$", line)
        if match:
            rows.setdefault(match.group(1), set()).update(re.findall(r"`([\w/]+)`", match.group(2)))
    return rows


def resolve(src, path, name):
    """The file that "name" means in path, from src on; None when there is none."""
    for base in (path.parent, src):
        place = pathlib.Path(os.path.normpath(base / name))
        if place.is_file():
            return place.relative_to(src) if place.is_relative_to(src) else place
    return None


def room(inside):
    """folder, and folder/subfolder when it is in one."""
    return inside.parts[0], "/".join(inside.parts[:2]) if len(inside.parts) > 2 else inside.parts[0]


def library_complaint(inside, name):
    if name in ROOMS:
        return None if re.match(ROOMS[name], str(inside)) else f"{inside}: <{name}> belongs into {ROOMS[name]}"
    return None if SYSTEM.fullmatch(name) else f"{inside}: <{name}> is of no library that ROOMS in tests/lint/layers.py lists"


def includes(text):
    """(directive, quote, name) of each, as the preprocessor sees them: lines joined, comments gone. No name: a macro has it."""
    text = COMMENT.sub(lambda m: m.group(1) or " ", text.replace("??/\n", "").replace("\\\n", ""))
    for word, rest in DIRECTIVE.findall(text):
        match = NAME.fullmatch(rest)
        yield word, *(match.groups() if match else ("", rest.strip()))


def file_complaint(table, used, inside, to):
    """A folder needs a permission for another folder; a subfolder for another one beside it."""
    if to.suffix not in ENDINGS:
        return f"{inside}: includes {to}, which does not end in {' or '.join(ENDINGS)}"
    (folder, sub), (to_folder, to_sub) = room(inside), room(to)
    if folder != to_folder:
        asks, wants = folder, to_folder
    elif sub == to_sub or to_sub == folder:
        return None
    else:
        asks, wants = sub, to_sub
    used.add((asks, wants))
    if wants in table.get(asks, set()):
        return None
    return f"{inside}: includes {to}, but '{asks}' may not include '{wants}'"


def include_complaint(table, used, path, word, quote, name):
    src = ROOT / "src"
    inside = path.relative_to(src)
    if word != "include" or not quote:
        return f"{inside}: '{word} {name}' is not an #include of a name in quotes"
    if quote == "<":
        return library_complaint(inside, name)
    if name == PUBLIC:
        return None if room(inside)[0] == "api" else f"{inside}: '{name}' is for api/ alone"
    if name in ELSEWHERE:
        return None
    to = resolve(src, path, name)
    if to is None or to.is_absolute():
        return f"{inside}: there is no '{name}'" if to is None else f"{inside}: '{name}' is outside src"
    return file_complaint(table, used, inside, to)


def complaints():
    table, used, src = allowed(), set(), ROOT / "src"
    for path in sorted(p for p in src.rglob("*") if p.suffix in (".c", ".h", ".def")):
        inside = path.relative_to(src)
        if room(inside)[0] not in table:
            yield f"{inside}: the folder '{room(inside)[0]}' is not in the table of docs/ARCHITECTURE.md"
            continue
        for word, quote, name in includes(path.read_text()):
            found = include_complaint(table, used, path, word, quote, name)
            if found:
                yield found
    for asks, names in table.items():
        for name in sorted(names):
            if (asks, name) not in used:
                yield f"docs/ARCHITECTURE.md: '{asks}' may include '{name}' and does not"


if __name__ == "__main__":
    complained = list(complaints())
    print("\n".join(complained) or "layers: fine")
    sys.exit(1 if complained else 0)
