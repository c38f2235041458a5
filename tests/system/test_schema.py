"""--schema: the JSON Schema of what a command writes as JSON, and that what it writes is of that shape."""
import json
import pathlib
import subprocess

import jsonschema
import pytest

import test_ranks
from conftest import FIXTURES, ROOT, clean_env
from test_cards import state  # noqa: F401 (a fixture)
from test_ranks import weave  # noqa: F401 (a fixture)

TOUR, PAIRS = ROOT / "docs/example/tour.assay", ROOT / "tests/truth/pairs"
STACKS, HOST = (ROOT / "tests/fuzz/corpus/session" / f"{name}.assay" for name in ("stacks", "host"))

# (command line, what the documents are)
WRITTEN = [
    (f"report {TOUR} --format json --flops bf16", "run_report"),
    (f"report {STACKS} --format json", "run_report"),
    (f"report {HOST} --format json --level process", "run_report"),
    (f"report {FIXTURES}/nvidia-smi/smi-query.csv --format json", "run_report"),
    (f"report {PAIRS} --format json", "runs_report"),
    (f"report --goodput {TOUR} --format json", "goodput_report"),
    (f"once {PAIRS} --json", "runs_report"),
    (f"once {TOUR} --at 20 --json --flops bf16", "moment"),
    (f"once {HOST} --json", "moment"),
    ("once --json", "moment"),
    (f"once {FIXTURES}/exposition/mig.prom --json", "moment"),
    (f"export {TOUR} --format jsonl --count 3", "gpu_line"),
    (f"export {FIXTURES}/dcgm/dmon-mig-all.txt --format jsonl --count 1", "gpu_line"),
    ("export --host --format jsonl --count 2 --poll 0.1", "host_line"),
    (f"export {HOST} --host --format jsonl --count 2", "host_line"),
    (f"stacks {STACKS} --format json", "stacks_look"),
    (f"why {STACKS} --format json", "why_answer"),
    (f"diff {PAIRS}/small.assay {PAIRS}/plain_a.assay --format json --gate time=5%,energy=10%", "comparison"),
    (f"diff {PAIRS}/plain_a.assay {PAIRS}/plain_a.assay --format json", "comparison"),
    (f"devices {FIXTURES}/dcgm/dmon-mig-all.txt --json", "device_list"),
    ("doctor --json --root /nowhere", "diagnosis"),
    ("metrics --json", "metric_list"),
    ("columns --json", "column_list"),
]
ELSEWHERE = ("jobs", "job", "fleet")  # the next test, and the views of a fleet in test_fleet_engine.py


def schema_of(program, command):
    done = subprocess.run([program, command, "--schema"], capture_output=True, text=True, env=clean_env("/nowhere"), timeout=30)
    assert done.returncode == 0 and done.stderr == "", done.stderr
    return json.loads(done.stdout)


def check(schema, documents, name):
    """Of the schema, and of exactly that document; no member may be there that the schema does not know, although readers take it."""
    for definition in schema["$defs"].values():
        assert "additionalProperties" not in definition
        definition["additionalProperties"] = False
    assert {"$ref": f"#/$defs/{name}"} in schema["anyOf"]
    exact = jsonschema.Draft202012Validator({"$ref": f"#/$defs/{name}", "$defs": schema["$defs"]})
    any_of = jsonschema.Draft202012Validator(schema)
    assert documents
    for document in documents:
        assert [f"{'.'.join(map(str, e.absolute_path))}: {e.message[-300:]}" for e in exact.iter_errors(document)][:5] == []
        assert any_of.is_valid(document)


@pytest.mark.parametrize("line, name", WRITTEN, ids=range(len(WRITTEN)))
def test_what_is_written_is_of_the_schema(program, tmp_path, line, name):
    done = subprocess.run([program, *line.split()], capture_output=True, text=True, env=clean_env(tmp_path), timeout=30)
    lines = [json.loads(text) for text in done.stdout.splitlines()] if "jsonl" in line else [json.loads(done.stdout)]
    check(schema_of(program, line.split()[0]), lines, name)


def test_a_job_is_of_the_schema(program, weave, tmp_path):  # noqa: F811
    test_ranks.common.write_job(test_ranks.small_job(4, slow=2, world=5), weave, tmp_path)
    check(schema_of(program, "report"), [json.loads(test_ranks.report(program, tmp_path, "--format", "json").stdout)], "job_report")


def test_records_of_jobs_are_of_the_schema(program, assay, state):  # noqa: F811
    lines = assay("jobs", "--state", state, "--format", "jsonl").stdout.splitlines()
    assert len(lines) == 3
    check(schema_of(program, "jobs"), [json.loads(line) for line in lines], "job_record")
    check(schema_of(program, "job"), [json.loads(assay("job", "4711", "--state", state, "--format", "json").stdout)], "job_record")


def test_a_schema_is_one(program):
    """Every part is used by some command, and each refers to parts that there are."""
    used = set()
    for command in {line.split()[0] for line, _ in WRITTEN} | set(ELSEWHERE):
        schema = schema_of(program, command)
        jsonschema.Draft202012Validator.check_schema(schema)
        used |= {ref.split("/")[-1] for ref in refs(schema)}
    assert used == set(schema["$defs"])


def refs(node):
    if isinstance(node, dict):
        if "$ref" in node:
            yield node["$ref"]
        for part in node.values():
            yield from refs(part)
    elif isinstance(node, list):
        for part in node:
            yield from refs(part)


def test_what_is_missing_is_seen(program):
    """A schema that everything fits would pass the tests above."""
    document = json.loads(subprocess.run([program, "report", TOUR, "--format", "json"], capture_output=True, text=True).stdout)
    schema = schema_of(program, "report")
    valid = jsonschema.Draft202012Validator(schema).is_valid
    assert valid(document) and valid({**document, "added_later": 1})
    assert not valid({k: v for k, v in document.items() if k != "findings"})
    assert not valid({**document, "schema": 3}) and not valid({**document, "ticks_taken": "7"})
    document["findings"][0]["gpus"] = [0]
    assert not valid(document)


@pytest.mark.parametrize("line, words", [
    ("report run.assay --schema", "unexpected argument 'run.assay'"), ("report --format csv --schema", "--schema is for JSON, not for --format csv"),
    ("plot --schema", "does not take --schema"), ("export --format jsonl --schema x", "unexpected argument 'x'")])
def test_what_has_no_use_beside_it_is_refused(assay, line, words):
    done = assay(*line.split())
    assert done.returncode == 2 and words in done.stderr and done.stdout == ""


def test_the_format_may_be_said(assay):
    assert assay("report", "--format", "json", "--schema").stdout == assay("report", "--schema").stdout != ""
    assert pathlib.Path(ROOT / "src/present/stream/schema.json").read_text().strip() in assay("report", "--schema").stdout
