"""The rules a machine can check."""
import collections
import pathlib
import re
import subprocess
import sys

import pytest

from conftest import ROOT

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import layers  # noqa: E402


def tracked(*patterns, root=ROOT):
    out = subprocess.run(["git", "ls-files", *patterns], cwd=root, capture_output=True, text=True, check=False)
    return [root / p for p in out.stdout.split()]


def test_layers():
    assert list(layers.complaints()) == []


# What a file may say, and the complaint; the table lets base include nothing, life and present include base.
BAD_INCLUDES = [
    ("base/bad.c", '#include "present/stream/csv.h"', "may not include 'present'"),
    ("base/bad.c", '#  include "present/stream/csv.h"', "may not include 'present'"),
    ("base/bad.c", '#include "../present/stream/csv.h"', "may not include 'present'"),
    ("base/table.def", '#include "../present/stream/csv.h"', "may not include 'present'"),
    ("present/text/bad.c", '#include "../stream/csv.h"', "'present/text' may not include 'present/stream'"),
    ("present/text/bad.c", '#include "present/stream/csv.h"', "'present/text' may not include 'present/stream'"),
    ("base/bad.c", "#include <curses.h>", "belongs into"),
    ("base/bad.c", "#include <lzma.h>", "is of no library"),
    ("base/bad.c", '#include "no/such.h"', "there is no 'no/such.h'"),
    ("base/bad.c", '#include "../../tests/x.h"', "is outside src"),
    ("base/bad.c", '#include/**/"present/stream/csv.h"', "may not include 'present'"),
    ("base/bad.c", '/* x\n */ # /* y */ include "present/stream/csv.h" // z', "may not include 'present'"),
    ("base/bad.c", '#inc\\\nlude "present/stream/csv.h"', "may not include 'present'"),
    ("base/bad.c", '%:include "present/stream/csv.h"', "may not include 'present'"),
    ("base/bad.c", '??=include "present/stream/csv.h"', "may not include 'present'"),
    ("base/bad.c", 'char c = \'"\';\n#include "present/stream/csv.h"', "may not include 'present'"),
    ("base/bad.c", '#import "present/stream/csv.h"', "is not an #include of a name"),
    ("base/bad.c", '#include_next "present/stream/csv.h"', "is not an #include of a name"),
    ("base/bad.c", '#define CSV "present/stream/csv.h"\n#include CSV', "is not an #include of a name"),
    ("base/bad.c", "#include <present/stream/csv.h>", "is of no library"),
    ("base/bad.c", '#include "x.inc"', "does not end in .h or .def"),
    ("base/bad.c", '#include "good.c"', "does not end in .h or .def"),
    ("base/bad.c", '#include "assay/assay.h"', "is for api/ alone"),
    ("newroom/bad.c", "", "is not in the table"),
    ("base/bad.c", "", "'life' may include 'base' and does not"),
]


@pytest.mark.parametrize("name, line, complaint", BAD_INCLUDES, ids=[f"{b[0]} {b[1]}" for b in BAD_INCLUDES])
def test_layers_would_be_noticed(tmp_path, monkeypatch, name, line, complaint):
    """The check itself can fail: on each of these, and on nothing else."""
    (tmp_path / "map.md").write_text("| `base` | nothing |\n| `life` | `base` |\n| `present` | `base` |\n")
    good = {"src/base/err.h": "#include <stdio.h>\n", "src/life/stop.c": '#include "base/err.h"\n', "tests/x.h": "",
            "src/base/x.inc": '#include "present/stream/csv.h"\n', "src/base/good.c": '/* #include "present/format.h" */ char s[] = "//";\n',
            "src/present/format.h": "", "src/present/stream/csv.h": '#include "base/err.h"\n#include "present/format.h"\n'}
    if complaint.startswith("'life'"):
        good["src/life/stop.c"] = ""
    for path, text in {**good, f"src/{name}": line + "\n"}.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    monkeypatch.setattr(layers, "ROOT", tmp_path)
    monkeypatch.setattr(layers, "ARCHITECTURE", tmp_path / "map.md")
    found = list(layers.complaints())
    assert len(found) == 1 and complaint in found[0], found


def test_static_names_of_commands_differ():
    """A debugger can tell them apart: one_run and the like, never a second 'run'."""
    for path in tracked("src/cmd/*.c"):
        assert not re.search(r"^static [\w *]+\b(run|main|init|start)\(", path.read_text(), re.M), path


# Names of static functions that stand in more files than a debugger likes, and in how many. Only smaller numbers are welcome.
STATIC_NAMES_MAX = 4
STATIC_NAMES = {
    "make_room": 6, "read_file": 6, "put_line": 6, "put_time": 6, "put_number": 6, "put_cell": 5, "put_gpus": 5, "share_of": 5, "is_due": 5,
}
# Names of one word that say all: a term.
ONE_WORD = {"autocorrelation", "siphash", "freep", "closep"}


def test_static_names_are_few():
    """A backtrace says where it is: a name of a static function stands in few files, and in no more than it did."""
    files = collections.Counter()
    for path in tracked("src/*.c"):
        files.update(set(re.findall(r"^static [^=;#{}()]*?\b(\w+)\((?!\*)[^;=]*?\)\s*\n?\{", path.read_text(), re.M)))
    assert len(files) > 3000
    assert {name: n for name, n in files.items() if n > STATIC_NAMES.get(name, STATIC_NAMES_MAX)} == {}
    assert {name for name in files if "_" not in name} - ONE_WORD == set(), "a verb and what it is done to"


def unused_functions(root):
    """Functions of src/ whose name stands in a declaration and a definition alone, and how many functions there are."""
    count, offered = collections.Counter(), set()
    for path in tracked("src/*.c", "src/*.h", "src/*.def", "tests/*.c", "tests/*.h", root=root):
        text = re.sub(r"/\*.*?\*/|\b(struct|enum|union) (?=\w+)\w+", "", path.read_text(), flags=re.S)
        count.update(re.findall(r"\w+", text))
        if path.relative_to(root).parts[0] == "src":
            offered.update(re.findall(r"^(?!static|typedef|#)[a-z* ][\w *]*?\b(\w+)\([^;{]*\)\n\{", text, re.M))
    return sorted(n for n in offered if count[n] < 3 and not n.startswith("assay_")), len(offered)


def test_every_function_is_used():
    """What a header offers, somebody calls."""
    unused, offered = unused_functions(ROOT)
    tables = {f"check_{m}" for m in re.findall(r"^CHECK\((\w+)", (ROOT / "src/doctor/checks.def").read_text(), re.M)}
    assert offered > 1000
    assert [n for n in unused if n not in tables] == []


def test_a_checkout_may_lie_anywhere(tmp_path):
    """Only the project's own src/ counts, not a folder of that name above it."""
    root = tmp_path / "src" / "checkout"
    for name, text in {"src/a.h": "int a(void);\n", "src/a.c": "int a(void)\n{\n}\n", "tests/t.c": "int of_a_test(void)\n{\n}\n"}.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    subprocess.run(["git", "init", "-q", root], check=True)
    subprocess.run(["git", "add", "."], cwd=root, check=True)
    assert unused_functions(root) == (["a"], 1)


def test_the_summary_of_meson_tells_each_feature():
    """What a build has, or lacks, is seen when it is configured."""
    features = re.findall(r"^option\('(\w+)', type: 'feature'", (ROOT / "meson_options.txt").read_text(), re.M)
    told = re.search(r"^summary\(\{(.*?)\}, section: 'assay'", (ROOT / "meson.build").read_text(), re.M | re.S).group(1)
    values = [line.rsplit(": ", 1)[1] for line in told.strip().splitlines()]
    assert len(features) >= 5
    assert [f for f in features if not any(re.search(rf"\b(has_)?{f}\b", v) for v in values)] == []


# What may write percent by its own format, and why it is not present/format.
PERCENT = {
    "src/cmd/selftest.c": "a difference, with its sign",
    "src/cmd/selftest_observer.c": "a difference to hundredths, with its sign",
    "src/present/diff/words.c": "a gate, as it was typed",
}


def test_percent_is_written_by_one_formatter():
    hand = [str(p.relative_to(ROOT)) for p in tracked("src/*.c", "src/*.h") if re.search(r"(?<!%)%[-+.*0-9]*[fgeduz]+ ?%%", p.read_text())]
    assert sorted(p for p in hand if p != "src/present/format.c") == sorted(PERCENT)


def test_format():
    files = tracked("*.c", "*.h")
    if not files:
        pytest.skip("not a git checkout")
    done = subprocess.run(["clang-format-14", "--dry-run", "--Werror", *map(str, files)], capture_output=True,
                          text=True, check=False)
    assert done.returncode == 0, done.stderr[:2000]


def test_dev_is_plain_shell():
    assert subprocess.run(["dash", "-n", str(ROOT / "dev")], check=False).returncode == 0


def test_every_command_has_a_man_page():
    names = re.findall(r"COMMAND\((\w+)\)", (ROOT / "src/cmd/commands.def").read_text())
    for name in names:
        if name != "name":
            assert (ROOT / f"man/assay-{name}.1.in").exists(), name


def test_changes_of_mutate_apply():
    """Every row of tests/mutate/changes.txt still changes exactly one place, and names tests that are there."""
    sys.path.insert(0, str(ROOT / "tests" / "mutate"))
    import mutate
    changes = list(mutate.read_changes())
    assert len(changes) >= 100
    for change in changes:
        found = (ROOT / change.path).read_text().count(change.old)
        assert found == 1, f"changes.txt:{change.line}: {change.path} has '{change.old}' {found} times"
        for test in change.tests:
            assert (ROOT / "tests" / (f"unit/{test}.c" if mutate.is_unit(test) else test)).is_file(), test


def test_files_that_the_architecture_names():
    """The map is true: every file it names is there. x stands for a name that somebody chooses."""
    text = "".join((ROOT / "docs" / name).read_text() for name in ("ARCHITECTURE.md", "INSIDE.md"))
    files = [str(p.relative_to(ROOT)) for p in tracked("src", "tests", "man", "python")]
    for name in sorted(set(re.findall(r"`([\w/.-]+\.(?:c|h|def|py|in))`", text))):
        if not re.search(r"(^|[/_-])x[/.]", name):
            assert any(f == name or f.endswith("/" + name) for f in files), name


def test_the_architecture_is_a_page():
    """The map first, one walk, what may include what, and the table of edits: 200 lines of 100 characters."""
    lines = (ROOT / "docs" / "ARCHITECTURE.md").read_text().splitlines()
    assert len(lines) <= 200 and [line for line in lines if len(line) > 100] == []
    assert [line[3:] for line in lines if line.startswith("## ")] == ["The rooms", "One walk: the power of a GPU", "What a folder may include", "Adding things"]


def test_the_page_for_contributors_has_pairs():
    page = (ROOT / "docs" / "STYLE.md").read_text().partition("## For contributors")[2]
    assert len(re.findall(r"^\| (?!not \||---)[^|]+ \| [^|]+ \|$", page, re.M)) >= 30


# Files that comments of src/ name and that are other projects'.
FOREIGN_FILES = {"stdio.h", "amdgpu_drm.h", "kgd_pp_interface.h", "rocm_smi.h"}
# "area.h" is a member of a struct, page_data.c is made by the build.
NO_FILES = {"area.h", "page_data.c"}


def test_files_that_comments_name():
    """A comment that names a file of a year ago lies."""
    files = [str(p.relative_to(ROOT)) for p in tracked()]
    missing = set()
    for path in tracked("src/*.c", "src/*.h", "src/*.def"):
        for comment in re.findall(r"/\*.*?\*/", path.read_text(), re.S):
            for name in re.findall(r"(?<![\w/.<>])((?:[\w-]+/)*[a-z][\w-]*\.(?:c|h|def|md))\b", comment):
                if name.rsplit("/", 1)[-1] not in FOREIGN_FILES | NO_FILES and not any(f == name or f.endswith("/" + name) for f in files):
                    missing.add((str(path.relative_to(ROOT)), name))
    assert missing == set()


def test_rooms_of_the_architecture():
    """Every folder of src stands in the table of rooms, and every room is a folder."""
    text = (ROOT / "docs" / "ARCHITECTURE.md").read_text()
    named = set(re.findall(r"^\| src/([\w/]+) \|", text, re.M))
    folders = {p.name for p in (ROOT / "src").iterdir() if p.is_dir()}
    assert {n.split("/")[0] for n in named} == folders
    assert all((ROOT / "src" / n).is_dir() for n in named)


def missing_tests(text):
    """Tests that a text names and that are not there: `test_x.py::test_y`, `test_x.c::y`, `fuzz_x`."""
    files = {p.name: p.read_text(errors="replace") for p in (ROOT / "tests").rglob("test_*.*") if p.suffix in (".py", ".c")}
    harnesses = {f"fuzz_{p.name}" for p in (ROOT / "tests" / "fuzz" / "corpus").iterdir()}
    missing = set(re.findall(r"`(fuzz_\w+)`", text)) - harnesses
    for file, test in re.findall(r"`(test_\w+\.(?:py|c))(?:::(\w+))?`", text):
        begins = rf"^def {test}\(" if file.endswith(".py") else rf"^static void {test}\(void \*\*state"
        if file not in files or (test and not re.search(begins, files[file], re.M)):
            missing.add(f"{file}::{test}")
    return missing


def test_the_threat_model_names_tests_that_are_there():
    """A promise whose test was renamed or removed is none."""
    text = (ROOT / "SECURITY.md").read_text()
    assert missing_tests(text) == set()
    assert missing_tests("`fuzz_no` `test_no.py` `test_lint.py::test_no` `test_lookup.c::no` `test_lint.py::test_layers` `test_lookup.c::tables` `fuzz_run`") == {
        "fuzz_no", "test_no.py::", "test_lint.py::test_no", "test_lookup.c::no"}
    promised = text.partition("## What we promise")[2].partition("\n## ")[0]
    claims = re.findall(r"^- (.+)$", promised, re.M)
    assert len(claims) > 40
    assert not [c for c in claims if not re.search(r"`(test_\w+\.\w+::\w+|\./dev attack)`", c)]


def test_text_leaves_by_one_way():
    """What a command prints is cleaned by print_text or write_out; streams clean each cell as it is written."""
    streams = {"src/cmd/command.c", "src/cmd/export.c", "src/cmd/export_host.c", "src/cmd/export_peer.c", "src/cmd/gendoc.c"}
    found = {str(p.relative_to(ROOT)) for p in tracked("src/cmd/*.c") if re.search(r"strbuf_flush\(|\bprintf\(|fwrite\(|\bputs\(", p.read_text())}
    assert found <= streams

    assert not [str(p) for p in tracked("src/present/*.c") if "text_clean_lines(" in p.read_text()]


def test_foreign_json_is_read_by_one_way():
    """base/jsonin.c refuses what would take a hundred times the memory of its text."""
    assert [str(p.relative_to(ROOT)) for p in tracked("src/**/*.c") if re.search(r"\bjson_load", p.read_text())] == ["src/base/jsonin.c"]


def test_xids_are_documented():
    rows = re.findall(r'^XID\((\d+), (\w+), (\w+), "([^"]+)", "([^"]+)"\)', (ROOT / "src/model/xids.def").read_text(), flags=re.M)
    health = {"GRAVE": "CRIT", "ERROR": "WARN", "NOTE": ""}
    listed = re.findall(r"^\| (\d+) \| (\w*) \| ([^|]+) \| [^|]+ \| ([^|]+) \|$", (ROOT / "docs/XIDS.md").read_text(), flags=re.M)
    assert rows and listed == [(n, health[effect], text, remedy) for n, _, effect, text, remedy in rows]
