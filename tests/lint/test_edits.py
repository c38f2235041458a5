"""What docs/ARCHITECTURE.md says of edits to add a thing: the rows that are there need no more than that."""
import re
import shutil
import subprocess
import sys

import pytest

from conftest import ROOT

SRC = ROOT / "src"
FILES = {str(p.relative_to(SRC)): p.read_text() for p in sorted(SRC.rglob("*")) if p.suffix in (".c", ".h", ".def")}
WORDS = {p: set(re.findall(r"\w+", re.sub(r"/\*.*?\*/", "", text, flags=re.S))) for p, text in FILES.items()}


def rows(table, macro):
    return re.findall(rf"^{macro}\((\w+)", FILES[table], flags=re.M)


def users(symbol, but=r"$^"):
    """Files that name a symbol, but for those in which that is the edit itself."""
    return [p for p, words in WORDS.items() if symbol in words and not re.search(but, p)]


def choices(option):
    """What an option may be, a|b|c, by its row."""
    return re.search(rf'^OPTION\({option}, "[\w-]+", CHOICE, "([^"]+)"', FILES["config/options.def"], re.M).group(1)


# A table, its macro, the symbol of a row, where it may stand besides the table, and how many files that is at the most.
ENDS_IN_A_SYMBOL = [
    ("cmd/commands.def", "COMMAND", "command_{}", r"^cmd/(?!serve_without)", 1, "a command: its file and the row"),
    ("formats/formats.def", "FORMAT", "format_{}", r"^formats/\w+/", 1, "a foreign format: its file and the row"),
    ("present/document/writers.def", "WRITER", "doc_writer_{}", r"^present/document/", 1, "a document writer: its file and the row"),
    ("present/tui/views.def", "VIEW", "view_{}", r"^present/tui/view_", 1, "a dashboard tab: its file and the row"),
]


@pytest.mark.parametrize("table, macro, symbol, place, most, why", ENDS_IN_A_SYMBOL)
def test_one_file_and_one_row(table, macro, symbol, place, most, why):
    found = rows(table, macro)
    assert len(found) > 3
    for name in found:
        symbol_of = symbol.format(name.lower())
        files = [p for p in users(symbol_of) if not p.endswith("serve_without.c")]
        assert len(files) <= most and all(re.search(place, p) for p in files), (why, name, files)


def test_a_finding_is_a_row():
    """Of all findings only one is named elsewhere: what is said of a GPU whose finding a recording does not have."""
    found = rows("model/findings.def", "FINDING")
    assert len(found) > 10
    assert {n: users(f"HEALTH_REASON_{n}") for n in found if users(f"HEALTH_REASON_{n}")} == {"GPU_HOT": ["present/report/report.c"]}


def test_a_class_is_a_row():
    """Classes are told by their rows; those that are named are the ends of the cascade and of tables."""
    named = [n for n in rows("model/classes.def", "CLASS") if users(f"WORKLOAD_{n}")]
    assert len(named) <= 3, named


# Metrics that compute/ and views have nothing special for: they are in tables, JSON, sessions and `assay metrics` all the same.
def test_a_metric_is_a_row_and_its_producers():
    plain = []
    for name in rows("model/metrics.def", "METRIC"):
        files = [p for p, words in WORDS.items() if name in words or f"METRIC_{name}" in words]
        if all(re.match(r"model/metrics\.def|model/nvml\.def|present/exposition/dcgm\.def|translate/|read/\w+/fields\.def", p) for p in files):
            plain.append(name)
    assert len(plain) >= 20, plain


def test_a_host_figure_is_a_row():
    """Rates, shares and what the kernel is asked for anyway are rows alone; else read/host has the line that reads it."""
    alone = {m: [n for n in rows("model/host.def", m) if not users(f"{m}_{n}", r"^read/host/")]
             for m in ("FIGURE", "SYSTEM", "EVIDENCE")}
    assert all(len(names) >= 3 for names in alone.values()), alone


def test_an_export_format_is_a_row_and_a_choice():
    """A row of targets and a choice of --to, the same names in the same order; nothing else decides on the format."""
    text = FILES["app/convert.c"]
    targets = re.findall(r'^    \{"([\w-]+)", (NULL|"\.\w+"), (.*)\},$', re.search(r"targets\[\] = \{\n(.*?)^\};", text, re.M | re.S).group(1), re.M)
    assert len(targets) >= 6
    assert "|".join(name for name, _, _ in targets) == choices("TO")
    hint = re.search(r'end it in (.*?)"\);', text, re.S).group(1)
    for name, ending, functions in targets:
        assert (ending.strip('"') if ending != "NULL" else f"--to {name}") in hint, name
        assert all(f"\nstatic int {f}(" in text for f in functions.split(", ") if f != "NULL"), name
    assert users("OPT_TO") == ["app/convert.c", "cmd/publish.c"]


def test_a_source_is_a_file_a_row_and_a_choice():
    """auto, which is one itself, alone names others: those that it tries."""
    found = rows("read/sources.def", "SOURCE")
    assert sorted(found) == sorted(choices("BACKEND").split("|")) and len(found) >= 6
    for name in found:
        defined = [p for p, text in FILES.items() if f"\nconst struct source_ops source_{name} =" in text]
        assert defined and len({p.rsplit("/", 1)[0] for p in defined}) == 1, (name, defined)
        named = [p for p in users(f"source_{name}") if not p.startswith(defined[0].rsplit("/", 1)[0])]
        assert set(named) <= {"read/join/auto.c"}, (name, named)
    assert set(re.findall(r'^    \{"(\w+)"', FILES["read/join/auto.c"], re.M)) < set(found)


def test_a_dialect_is_a_row_and_a_map():
    """Who speaks one names it, and nobody else."""
    found = re.findall(r"DIALECT_(?!COUNT)(\w+)", re.search(r"enum dialect \{(.*?)\};", FILES["model/reading.h"], re.S).group(1))
    assert len(found) >= 8
    for name in found:
        others = [p for p in users(f"DIALECT_{name}") if not re.match(r"read/\w+/|formats/\w+/|engine/session_source\.c", p)]
        assert others == ["model/reading.h", "translate/maps.c"], (name, others)


ADDED = """OPTION(ADDED, "added-thing", COUNT, "N", "7", "top" LIB, "a thing that was added")
"""
ASKS = r"""
#include "config/config.h"
#include <stdio.h>
#include <string.h>
static const char *environment(const char *name)
{
        return strcmp(name, "ASSAY_ADDED_THING") == 0 ? "9" : NULL;
}
int main(int argc, char **argv)
{
        struct config c = {0};
        struct err err = {0};
        int r = config_read_args(&c, argc, argv, NULL, &err);
        if (r == 0)
                r = config_bind(&c, argv[1], &err);
        if (r == 0 && argc > 2 && strcmp(argv[2], "environment") == 0)
                r = config_read_environment(&c, environment, &err);
        if (r == 0)
                printf("%g: %s\n", config_number(&c, OPT_ADDED), option_info(OPT_ADDED)->help);
        else
                printf("%s\n", err.msg);
        config_finish(&c);
        return 0;
}
"""


def test_an_option_is_a_row(tmp_path):
    """A row added in a copy is a flag, a variable, a default and a help text; other commands refuse it."""
    for room in ("base", "config"):
        shutil.copytree(SRC / room, tmp_path / room)
    table = tmp_path / "config" / "options.def"
    table.write_text(table.read_text().replace("OPTION(OUTPUT,", ADDED + "OPTION(OUTPUT,", 1))
    (tmp_path / "asks.c").write_text(ASKS)
    parts = ["config/config.c", "config/options.c", "base/err.c", "base/num.c", "base/suggest.c", "base/trust.c", "base/duration.c"]
    subprocess.run(["cc", "-std=c17", "-D_GNU_SOURCE", "-I.", "-o", "asks", "asks.c", *parts, "-linih", "-lm"], cwd=tmp_path, check=True)

    def asks(*args):
        return subprocess.run([tmp_path / "asks", *args], capture_output=True, text=True, check=True).stdout.strip()
    assert asks("top") == "7: a thing that was added"
    assert asks("top", "--added-thing", "5") == "5: a thing that was added"
    assert asks("top", "environment") == "9: a thing that was added"
    assert "--added-thing" in asks("top", "--added-thing", "x") and "added-thing" in asks("report", "--added-thing", "5")
    written = [p.name for p in (ROOT / "man").glob("*.1.in") if re.search(r"^\.B \\-\\-poll$", p.read_text(), re.M) and "@OPTIONS@" not in p.read_text()]
    assert written == [], "man pages take their options from the table"


def changed_copy(folder, rooms, edits):
    """Some of the sources, copied; edits are (file, before what, what is put there)."""
    for room in rooms:
        shutil.copytree(SRC / room, folder / room)
    for name, before, added in edits:
        text = (folder / name).read_text()
        assert before in text, (name, before)
        (folder / name).write_text(text.replace(before, added + before, 1))


def build_copy(folder, program, parts):
    """What the program says; None when a table's assertion does not hold."""
    (folder / "asks.c").write_text(program)
    built = subprocess.run(["cc", "-std=c17", "-D_GNU_SOURCE", "-I.", "-o", "asks", "asks.c", *parts, "-lm"], cwd=folder, capture_output=True, text=True)
    assert built.returncode == 0 or "static assertion failed" in built.stderr, built.stderr
    return subprocess.run([folder / "asks"], capture_output=True, text=True, check=True).stdout if built.returncode == 0 else None


LIMITER = """LIMITER(ADDED, "device.added", KERNEL, GPU, is_added, CEILING_OCCUPANCY, CEILING_BIT(ENGINE) | CEILING_BIT(OCCUPANCY),
        REASONS(CEILING_OCCUPANCY), "added", "what was added", "", "", "occupancy below 1 %", "add nothing", "", "")
"""
LIMITER_RULE = """static enum truth is_added(const struct view *v)
{
        return view_has(v, CEILING_OCCUPANCY) ? below(view_now(v, CEILING_OCCUPANCY), 0.01) : NO;
}

"""
LIMITER_ASKS = r"""
#include "compute/stretches.h"
#include <stdio.h>
int main(void)
{
        struct ceilings c = {0};
        struct situation s = {.touched = true, .worked = true};
        for (enum ceiling i = CEILING_ENGINE; i <= CEILING_DRAM; i++)
                ceiling_set(&c, i, i <= CEILING_SM ? 0.95 : 0.7);
        ceiling_set(&c, CEILING_OCCUPANCY, 0.004);
        struct stretch stretch = {.end_s = 10, .limit = limiter_decide(&c, &s, false)};
        struct stretch_list list = {.list = &stretch, .n = 1, .n_gpus = 1, .seconds = 10};
        gpu_set_add(&stretch.gpus, 0);
        findings_rank(&list);
        enum limiter l = stretch.limit.limiter;
        printf("%s: %s, %s; try: %s; %.2f to win", limiter_name(l), limiter_words(l), limiter_brief(l), limiter_try(l, &c, FRAMEWORK_TORCH), list.findings[0].won_s);
        return 0;
}
"""
LIMITER_PARTS = ["compute/limiter.c", "compute/limiter_driver.c", "compute/limiter_decide.c", "compute/findings.c", "model/limit.c", "model/advice.c", "model/stretch.c"]


@pytest.mark.parametrize("row, turn, says, why", [
    (LIMITER, "TURN(ADDED)\n", "device.added: what was added, added; try: add nothing; 9.96 to win", "found by its rule, with words, advice and gain"),
    (LIMITER.replace("what was added", ""), "TURN(ADDED)\n", None, "without words it does not compile"),
    (LIMITER, "", None, "nor without a turn"),
])
def test_a_limiter_is_a_row_and_a_function(tmp_path, row, turn, says, why):
    edits = [("model/limiters.def", "TURN(HOST_STARTING)", row), ("model/limiters.def", "TURN(MEMORY_BANDWIDTH)\n", turn),
             ("compute/limiter.c", "/* ---- the cascade", LIMITER_RULE)]
    changed_copy(tmp_path, ("base", "model", "compute"), edits)
    assert build_copy(tmp_path, LIMITER_ASKS, LIMITER_PARTS) == says, why


def test_advice_is_a_row():
    """Nothing else names the texts; every condition is used, and one that is there serves more than a row."""
    found = re.findall(r"^ADVICE\((\w+), (\w+),", FILES["model/advice.def"], re.M)
    conditions = re.findall(r"^static bool (\w+)\(const struct ceilings \*c\)$", FILES["model/advice.c"], re.M)
    assert len(found) > 5 and set(when for _, when in found) <= set(conditions)
    assert {limiter for limiter, _ in found} <= set(rows("model/limiters.def", "LIMITER"))
    assert users("ADVICE") == ["model/advice.c", "model/advice.def"]


METRIC_ASKS = r"""
#include "translate/translate.h"
#include <stdio.h>
int main(void)
{
        static struct schema schema = {.dialect = DIALECT_NVML, .revision = 1, .n = 1, .names = {"added.thing"}};
        static struct binding b;
        static struct sample s;
        struct raw value = {.num = 50, .state = STATE_OK};
        struct reading r = {.values = &value};
        translate_bind(&b, &schema);
        translate_reading(&b, &r, &s);
        const struct metric_info *info = metric_info(METRIC_ADDED);
        printf("%s %g: %s", info->name, s.m[METRIC_ADDED].v, info->help);
        return 0;
}
"""
METRIC_PARTS = ["translate/translate.c", "translate/maps.c", "model/metric.c", "model/unit.c", "model/value.c", "model/entity.c", "base/num.c", "base/text.c", "base/strbuf.c"]


def test_a_metric_of_nvml_is_two_rows(tmp_path):
    """A row of the vocabulary, and one of what the driver is asked for, which says what it becomes."""
    edits = [("model/metrics.def", "METRIC(POWER,", 'METRIC(ADDED, "added", GAUGE, RATIO, 1, GPU, POWER, "a thing that was added")\n'),
             ("model/nvml.def", "NVML_FIELD(POWER,", 'NVML_FIELD(ADDED, "added.thing", POWER, ADDED, PERCENT)\n')]
    changed_copy(tmp_path, ("base", "model", "translate"), edits)
    assert build_copy(tmp_path, METRIC_ASKS, METRIC_PARTS) == "added 0.5: a thing that was added"


def test_a_colour_is_a_row_and_a_key_what_it_does():
    found = rows("present/tui/keys.def", "KEY")
    alone = [k for k in found if len(users(f"ACTION_{k}")) <= 1]
    assert len(alone) > len(found) / 2, "one place beside the row does it"
    assert set(re.findall(r"present/tui/\w+\.def", " ".join(p for k in found for p in users(f"ACTION_{k}")))) == set()
    assert [c for c in rows("present/tui/ink.def", "INK") if any(p.endswith((".h", ".def")) for p in users(f"INK_{c}", r"^present/chart/"))] == []


def test_a_tab_is_a_file_and_two_rows():
    """Tabs and their keys stand in the same order; the keys need no code but that for the range of them."""
    views, keys = rows("present/tui/views.def", "VIEW"), rows("present/tui/keys.def", "KEY")
    tabs = views[:views.index("HOST") + 1]
    assert keys[keys.index("FLEET"):keys.index("HOST") + 1] == tabs
    assert {k: users(f"ACTION_{k}") for k in tabs[1:-1] if users(f"ACTION_{k}")} == {}


def test_a_check_of_the_doctor_is_a_row_and_a_function():
    found = rows("doctor/checks.def", "CHECK")
    assert len(found) > 10
    for name in found:
        files = users(f"check_{name}")
        assert len(files) == 1 and files[0].startswith("doctor/check_"), (name, files)


def test_a_throttle_reason_is_a_row():
    """Words and kind come with the row; what is told of single ones, seconds and AMD's flags, needs more."""
    found = re.findall(r"^        THROTTLE\((\w+), 0x", FILES["model/throttle.h"], re.M)
    but = r"^model/integrals\.def|^present/exposition/own\.def|^translate/"
    assert len(found) >= 9 and len([n for n in found if not users(f"THROTTLE_{n}", but)]) >= 4, found


def test_a_gpu_model_and_a_launcher_are_rows():
    """Their names are strings, and stand in their tables alone."""
    models = re.findall(r'^PEAK\("([^"]+)"', FILES["compute/peaks.def"], re.M)
    assert len(models) > 15
    assert [m for m in models if any(f'"{m}"' in text for p, text in FILES.items() if p not in ("compute/peaks.def", "compute/health.c"))] == []
    variables = re.findall(r'"([A-Z]\w+RANK)"', re.search(r"launchers\[\] = \{\n(.*?)^\};", FILES["app/rank.c"], re.M | re.S).group(1))
    assert len(variables) >= 4
    assert [v for v in variables if any(f'"{v}"' in text for p, text in FILES.items() if p not in ("app/rank.c", "app/manifest.c"))] == []


def test_the_page_of_cards_is_of_its_table():
    """docs/CARDS.md says what src/compute/peaks.def says: python3 tests/tools/cards.py writes it."""
    sys.path.insert(0, str(ROOT / "tests" / "tools"))
    import cards
    assert cards.table().count("\n") > 80
    assert cards.PAGE.read_text() == cards.page(cards.PAGE.read_text())


def test_a_cause_of_a_hang_is_a_row_and_a_rule():
    names = rows("model/why.def", "WHY")
    assert len(names) > 10
    assert {n: users(f"WHY_{n}") for n in names if users(f"WHY_{n}") != ["compute/why/causes.c"]} == {}
    page = (ROOT / "docs" / "HANGS.md").read_text()
    assert [n for n in names if f"`{n.lower()}`" not in page] == []


def test_a_collective_is_a_row():
    names = rows("model/collectives.def", "COLLECTIVE")
    assert len(names) > 10
    assert [p for p in FILES if p != "model/why.c" and "model/collectives.def" in FILES[p]] == []


def build_added(folder, files, edits, program, parts, stubs=""):
    """What a program says that is built of copied files with edits and of new ones; what they include besides is that of src."""
    for name in files:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(SRC / name, folder / name)
    changed_copy(folder, (), edits)
    (folder / "asks.c").write_text(program + stubs)
    subprocess.run(["cc", "-std=c17", "-D_GNU_SOURCE", "-I.", f"-I{SRC}", f"-I{ROOT / 'include'}", "-no-pie", "-Wl,--unresolved-symbols=ignore-all",
                    "-o", "asks", "asks.c", *[p if (folder / p).exists() else str(SRC / p) for p in parts], "-linih", "-lm"],
                   cwd=folder, check=True, capture_output=True)
    return subprocess.run([folder / "asks"], capture_output=True, text=True, check=True).stdout


def stubs_of(table, macro, declaration):
    """The other rows' symbols, so that the table can be linked without them."""
    return "".join(declaration.format(n=name.lower()) + "\n" for name in rows(table, macro))


def new_file(folder, name, text):
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(text)


def test_a_command_is_a_file_and_a_row(tmp_path):
    new_file(tmp_path, "cmd/added.c", '#include "cmd/command.h"\nstatic int run_added(const struct config *config)\n{\n        return config ? 1 : 7;\n}\n'
             'const struct command command_added = {.name = "added", .summary = "a command that was added", .run = run_added};\n')
    says = build_added(tmp_path, ["cmd/command.c", "cmd/commands.def"], [("cmd/commands.def", "COMMAND(top)", "COMMAND(added)\n")],
                       '#include "cmd/command.h"\nint main(void)\n{\n        const struct command *c = command_find("added");\n'
                       '        printf("%s: %s, %d; %s", c->name, c->summary, c->run(NULL), command_find("top")->name);\n        return 0;\n}\n',
                       ["cmd/command.c", "cmd/added.c"], stubs_of("cmd/commands.def", "COMMAND", 'const struct command command_{n} = {{.name = "{n}"}};'))
    assert says == "added: a command that was added, 7; top"


def test_a_format_is_a_file_and_a_row(tmp_path):
    new_file(tmp_path, "formats/added/added.c", '#include "formats/format.h"\n#include <string.h>\nstatic bool probe_added(const char *s, size_t len)\n{\n'
             '        return len > 5 && memcmp(s, "ADDED", 5) == 0;\n}\nconst struct format_ops format_added = {.name = "added capture", .probe = probe_added};\n')
    stubs = "static bool no(const char *s, size_t n)\n{\n        return !s && n;\n}\n" + stubs_of(
        "formats/formats.def", "FORMAT", "const struct format_ops format_{n} = {{.name = \"{n}\", .probe = no}};")
    says = build_added(tmp_path, ["formats/format.c", "formats/formats.def"], [("formats/formats.def", "FORMAT(jsonl)", "FORMAT(added)\n")],
                       '#include "formats/format.h"\n#include <stdio.h>\nint main(void)\n{\n        for (size_t i = 0; format_at(i); i++) {\n'
                       '                if (format_at(i)->probe("ADDED 1", 7))\n                        printf("%s", format_at(i)->name);\n        }\n        return 0;\n}\n',
                       ["formats/format.c", "formats/added/added.c"], stubs)
    assert says == "added capture"


SOURCE_ASKS = r"""
#include "config/config.h"
#include "read/source.h"
#include <stdio.h>
int main(void)
{
        char *args[] = {"assay", "top", "--backend", "added"};
        struct config c = {0};
        struct err err = {0};
        int r = config_read_args(&c, 4, args, NULL, &err);
        if (r == 0)
                r = config_bind(&c, "top", &err);
        const struct source_ops *ops = r == 0 ? source_find(config_text(&c, OPT_BACKEND)) : NULL;
        printf("%s", ops ? ops->help : err.msg);
        config_finish(&c);
        return 0;
}
"""


@pytest.mark.parametrize("choice, says", [("nvml|added|", "a source that was added"), ("nvml|", "--backend: unknown value 'added'")])
def test_a_source_is_a_file_and_two_rows(tmp_path, choice, says):
    """Without its name among --backend's choices it cannot be asked for."""
    new_file(tmp_path, "read/added/source.c", '#include "read/source.h"\nconst struct source_ops source_added = {.name = "added", .help = "a source that was added"};\n')
    shutil.copytree(SRC / "config", tmp_path / "config")
    table = tmp_path / "config" / "options.def"
    before = table.read_text()
    assert re.search(r'^OPTION\(BACKEND, "[\w-]+", CHOICE, "[^"]*nvml\|', before, re.M)
    table.write_text(re.sub(r'^(OPTION\(BACKEND, "[\w-]+", CHOICE, "[^"]*?)nvml\|', lambda m: m.group(1) + choice, before, count=1, flags=re.M))
    parts = ["config/config.c", "config/options.c", "base/err.c", "base/num.c", "base/suggest.c", "base/trust.c", "base/duration.c"]
    assert build_added(tmp_path, ["read/source.c", "read/sources.def"], [("read/sources.def", "SOURCE(nvml)", "SOURCE(added)\n")], SOURCE_ASKS,
                       ["read/source.c", "read/added/source.c", *parts],
                       stubs_of("read/sources.def", "SOURCE", 'const struct source_ops source_{n} = {{.name = "{n}"}};')) == says


def test_a_document_writer_is_a_file_and_a_row(tmp_path):
    new_file(tmp_path, "present/document/added.c", '#include "present/document/document.h"\nstatic void doc_added(const struct document *d, const struct doc_view *view, '
             'struct strbuf *out)\n{\n        strbuf_putf(out, "%s, added%s", d->what, view ? " with a view" : "");\n}\n'
             'const struct doc_writer doc_writer_added = {.name = "added", .write = doc_added};\n')
    says = build_added(tmp_path, ["present/document/document.c", "present/document/writers.def"],
                       [("present/document/writers.def", "WRITER(html)", "WRITER(added)\n")],
                       '#include "present/document/document.h"\n#include <stdio.h>\nint main(void)\n{\n        struct strbuf out = {0};\n        struct err err = {0};\n'
                       '        const struct document d = {.what = "a list"};\n        document_write(&d, "added", NULL, &out, &err);\n        printf("%s; ", out.s);\n'
                       '        document_write(&d, "other", NULL, &out, &err);\n        printf("%s, %s", err.msg, err.hint);\n        return 0;\n}\n',
                       ["present/document/document.c", "present/document/added.c", "base/strbuf.c", "base/err.c"],
                       stubs_of("present/document/writers.def", "WRITER", 'const struct doc_writer doc_writer_{n} = {{.name = "{n}"}};'))
    assert says.startswith("a list, added; a list cannot be written as other, ") and "added" in says.rpartition(", ")[0], "and it is offered"


def test_an_added_tab_has_its_key(tmp_path):
    """Its file and a row of each table; the keys of tabs follow one another as the tabs do."""
    new_file(tmp_path, "present/tui/view_added.c", '#include "present/tui/ui.h"\nconst struct view_ops view_added = {.name = "added"};\n')
    stubs = "".join(f'const struct view_ops view_{n} = {{.name = "{n}"}};\n' for n in re.findall(r"^VIEW\(\w+, (\w+)\)", FILES["present/tui/views.def"], re.M))
    files = [p for p in FILES if re.match(r"present/tui/(ui\.[ch]|keys\.[ch]|\w+\.def)$", p)]
    says = build_added(tmp_path, files, [("present/tui/views.def", "VIEW(HOST,", "VIEW(ADDED, added)\n"),
                                         ("present/tui/keys.def", "KEY(HOST,", 'KEY(ADDED, \'0\', 0, "", "what was added")\n')],
                       '#include "present/tui/ui.h"\n#include <stdio.h>\nint main(void)\n{\n        enum action a = key_action(\'0\');\n'
                       '        printf("%s, %s, %d", view_at((enum view_id)(a - ACTION_FLEET))->name, key_at(a - 1)->help, view_find("added") < VIEW_TABS);\n'
                       '        return 0;\n}\n', ["present/tui/ui.c", "present/tui/keys.c", "present/tui/view_added.c"], stubs)
    assert says == "added, what was added, 1"


FINDING_ASKS = r"""
#include "compute/compute.h"
#include <stdio.h>
int main(void)
{
        static struct sample s;
        static struct health_history history;
        const struct compute_options o = {0};
        for (int i = 0; i < 2; i++) {
                s.m[METRIC_POWER] = value_ok(i == 0 ? 99 : 101);
                struct health h = health_of(&s, &history, &o);
                printf("%d%d ", h.state == HEALTH_WARN, (h.findings >> HEALTH_REASON_ADDED) & 1);
        }
        printf("%s: %s", health_reason_info(HEALTH_REASON_ADDED)->name, health_reason_info(HEALTH_REASON_ADDED)->text);
        return 0;
}
"""


def test_an_added_finding_is_found(tmp_path):
    says = build_added(tmp_path, [p for p in FILES if p.startswith("model/")] + ["compute/health.c", "compute/compute.h"],
                       [("model/findings.def", "FINDING(GPU_HOT,", 'FINDING(ADDED, "added", WARN, POWER, ABOVE, 100, SINCE, "what was added", LINK)\n')],
                       FINDING_ASKS, ["compute/health.c", "model/verdict.c", "model/value.c", "model/xid.c", "base/num.c"])
    assert says == "00 11 added: what was added"


FIGURE_ASKS = r"""
#include "compute/levels.h"
#include <stdio.h>
int main(void)
{
        static struct host before, now;
        before.levels[LEVEL_USER].present = now.levels[LEVEL_USER].present = true;
        before.levels[LEVEL_USER].f[FIGURE_CPU_TIME] = value_ok(1);
        now.levels[LEVEL_USER].f[FIGURE_CPU_TIME] = value_ok(4);
        now.mono_ns = 2 * 1000000000LL;
        now.interval_ns = 2 * 1000000000LL;
        levels_compute(&before, &now);
        const struct metric_info *info = figure_info(FIGURE_ADDED);
        printf("%s %g: %s", info->name, now.levels[LEVEL_USER].f[FIGURE_ADDED].v, info->help);
        return 0;
}
"""


def test_an_added_host_figure_is_computed(tmp_path):
    """A rate of a counter that is read needs nothing but its row."""
    says = build_added(tmp_path, [p for p in FILES if p.startswith("model/")] + ["compute/levels.c", "compute/levels.h"],
                       [("model/host.def", "FIGURE(CPU_SHARE,", 'FIGURE(ADDED, "added", RATE, NUMBER, CPU_TIME, "a rate that was added")\n')],
                       FIGURE_ASKS, ["compute/levels.c", "model/host.c", "model/value.c", "base/clock.c"])
    assert says == "added 1.5: a rate that was added"


# Each numbered row of the table, the number, and what counts it above.
COUNTED = {
    "a host figure": (1, test_an_added_host_figure_is_computed), "a metric": (2, test_a_metric_of_nvml_is_two_rows), "a limiter": (2, test_a_limiter_is_a_row_and_a_function),
    "a piece of advice where the evidence says more": (1, test_advice_is_a_row),
    "a health finding": (1, test_an_added_finding_is_found), "an export format": (2, test_an_export_format_is_a_row_and_a_choice),
    "a workload class": (1, test_a_class_is_a_row), "a throttle reason": (1, test_a_throttle_reason_is_a_row),
    "a launcher": (1, test_a_gpu_model_and_a_launcher_are_rows), "a GPU model": (1, test_a_gpu_model_and_a_launcher_are_rows),
    "a source": (3, test_a_source_is_a_file_and_two_rows),
    "a dialect: names of a source or a format": (2, test_a_dialect_is_a_row_and_a_map),
    "a foreign format": (2, test_a_format_is_a_file_and_a_row), "an option": (1, test_an_option_is_a_row),
    "a dashboard tab": (3, test_an_added_tab_has_its_key), "a key": (2, test_a_colour_is_a_row_and_a_key_what_it_does),
    "a colour": (1, test_a_colour_is_a_row_and_a_key_what_it_does), "a check of the doctor": (2, test_a_check_of_the_doctor_is_a_row_and_a_function),
    "a cause of a hang": (2, test_a_cause_of_a_hang_is_a_row_and_a_rule), "a function in which ranks wait": (1, test_a_collective_is_a_row),
    "a document writer": (2, test_a_document_writer_is_a_file_and_a_row), "a command": (2, test_a_command_is_a_file_and_a_row),
}


def test_the_table_of_edits():
    """Each number in the table is one that a test counts, and names a file for each."""
    lines = re.findall(r"^\| (an? [^|]+) \| (\d) \| (.+) \|$", (ROOT / "docs" / "ARCHITECTURE.md").read_text(), flags=re.M)
    assert {what: int(n) for what, n, _ in lines} == {what: n for what, (n, _) in COUNTED.items()}
    for what, n, where in lines:
        assert n == "1" or "one function" in where or len(re.findall(r"`[\w/]+\.(?:c|h|def)`", where)) >= int(n), what
    assert {"a metric", "a host figure", "a source", "an option", "a command", "a dashboard tab", "a foreign format", "a health finding", "a limiter",
            "a document writer"} <= set(COUNTED)
