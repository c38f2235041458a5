"""assay mcp: what an agent asks through the Model Context Protocol, and what it cannot make it do."""
import json
import os
import shutil
import subprocess

import jsonschema
import pytest

from conftest import ROOT, clean_env

TOUR = ROOT / "docs/example/tour.assay"


@pytest.fixture
def ask(program, tmp_path):
    """Answers to messages; those that are texts go as they are."""
    def ask(*messages, env=None):
        lines = [m if isinstance(m, (str, bytes)) else json.dumps(m) for m in messages]
        text = b"".join((line if isinstance(line, bytes) else line.encode()) + b"\n" for line in lines)
        done = subprocess.run([program, "mcp"], input=text, capture_output=True, cwd=tmp_path, env={**clean_env(tmp_path), **(env or {})}, timeout=60)
        assert done.returncode == 0 and done.stderr == b""
        return [json.loads(line) for line in done.stdout.splitlines()]
    return ask


def call(name, id=1, **arguments):
    return {"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": name, "arguments": arguments}}


def text_of(answer):
    return "".join(part["text"] for part in answer["result"]["content"])


def test_a_session_of_the_protocol(ask):
    hello = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}}
    first, tools, pong = ask(hello, {"jsonrpc": "2.0", "method": "notifications/initialized"}, {"jsonrpc": "2.0", "id": "two", "method": "tools/list"},
                             {"jsonrpc": "2.0", "id": 3, "method": "ping"})
    assert first["id"] == 0 and first["result"]["protocolVersion"] == "2025-06-18"
    assert first["result"]["serverInfo"]["name"] == "assay" and "tools" in first["result"]["capabilities"]
    assert tools["id"] == "two" and {"report", "diff", "stacks", "why", "once"} == {t["name"] for t in tools["result"]["tools"]}
    for tool in tools["result"]["tools"]:
        jsonschema.Draft202012Validator.check_schema(tool["inputSchema"])
        assert tool["annotations"]["readOnlyHint"] and tool["inputSchema"]["additionalProperties"] is False and tool["description"]
    assert pong == {"jsonrpc": "2.0", "id": 3, "result": {}}


def test_an_unknown_version_is_answered_with_one_that_is_spoken(ask):
    answer, = ask({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {"protocolVersion": "1999-01-01"}})
    assert answer["result"]["protocolVersion"] >= "2025-06-18"


def test_the_tools_say_what_the_commands_say(ask, program, tmp_path):
    shutil.copy(TOUR, tmp_path / "run.assay")
    def plain(*words):
        return subprocess.run([program, *words], capture_output=True, text=True, cwd=tmp_path, env=clean_env(tmp_path)).stdout
    report, as_json, both, once, stacks = ask(
        call("report", path="run.assay"), call("report", path="run.assay", format="json", phase="tiny_kernels"),
        call("diff", base=["run.assay"], new=["run.assay"], format="json"), call("once", path=str(TOUR), at=20, json=True), call("stacks", path="run.assay"))
    assert text_of(report) == plain("report", "./run.assay") and not report["result"]["isError"]
    assert json.loads(text_of(as_json))["findings"]
    assert json.loads(both["result"]["content"][0]["text"])["verdict"]
    assert json.loads(text_of(once))["gpus"][0]["verdict"]
    why, = ask(call("why", path=str(ROOT / "tests/fuzz/corpus/session/stacks.assay")))
    assert "train.py:88 main" in text_of(why)
    assert stacks["result"]["isError"] and "no stacks" in text_of(stacks)


def test_now_is_this_machine(ask):
    """A machine without a GPU is no failure of the protocol."""
    answer, = ask(call("once"))
    assert "host" in text_of(answer)


REFUSED = [
    (call("report"), "argument 'path' is required"),
    (call("report", path=7), "argument 'path' is not a text"),
    (call("report", path="http://127.0.0.1:1/metrics"), "is an address"),
    (call("once", path="127.0.0.1:9400"), "no such file"),
    (call("once", path="@nodes"), "no such file"),
    (call("once", path="/dev/zero"), "neither a file nor a folder"),
    (call("report", path="pipe"), "neither a file nor a folder"),
    (call("report", path="run.assay", format="html"), "one of: text|json|markdown"),
    (call("report", path="run.assay", output="x"), "an argument that 'report' does not take"),
    (call("report", path="run.assay", all="yes"), "neither true nor false"),
    (call("report", path="run.assay", phase="-o x"), "phase"),
    (call("stacks", pid=0), "out of range"),
    (call("stacks", pid=1.5), "not a whole number"),
    (call("stacks", path="run.assay", at=-1), "out of range"),
    (call("diff", base=[], new=["run.assay"]), "not a list of paths"),
    (call("diff", base=["run.assay"] * 70, new=["run.assay"]), "more than 63 words"),
    (call("diff", base=["run.assay"], new=["--output=x"]), "no such file: './--output=x'"),
    (call("once", gpus="x" * 5000), "too long"),
]


def test_what_is_refused_says_why(ask, tmp_path):
    shutil.copy(TOUR, tmp_path / "run.assay")
    os.mkfifo(tmp_path / "pipe")
    before = sorted(os.listdir(tmp_path))
    answers = ask(*(message for message, _ in REFUSED))
    for (message, words), answer in zip(REFUSED, answers, strict=True):
        assert answer["result"]["isError"] and words in text_of(answer), (message, answer)
    assert sorted(os.listdir(tmp_path)) == before


@pytest.mark.parametrize("message, code", [
    ("{", -32700), (b"\xff\xfe", -32700), ("[" * 3000, -32700), ('{"a":1,"a":2}', -32700), ("x" * 300_000, -32700),
    ("{}", -32600), ("[]", -32600), ('["a"]', -32600), ({"jsonrpc": "1.0", "id": 1, "method": "ping"}, -32600), ({"jsonrpc": "2.0", "id": None, "method": "ping"}, -32600),
    ({"jsonrpc": "2.0", "id": 1, "method": "resources/list"}, -32601), (call("rm", path="x"), -32602), ({"jsonrpc": "2.0", "id": 1, "method": "tools/call"}, -32602),
], ids=range(13))
def test_what_is_no_request_is_answered_with_an_error(ask, message, code):
    """And the next request is answered as if nothing had been."""
    first, then = ask(message, {"jsonrpc": "2.0", "id": 5, "method": "ping"})
    first = first[0] if isinstance(first, list) else first
    assert first["error"]["code"] == code and then == {"jsonrpc": "2.0", "id": 5, "result": {}}


def test_notifications_and_answers_are_not_answered(ask):
    assert ask({"jsonrpc": "2.0", "method": "ping"}, {"jsonrpc": "2.0", "method": "x"}, {"jsonrpc": "2.0", "id": 4, "result": {}}, "", "  ") == []
    batch, = ask([{"jsonrpc": "2.0", "id": 1, "method": "ping"}, {"jsonrpc": "2.0", "method": "x"}, {"jsonrpc": "2.0", "id": 2, "method": "ping"}])
    assert [a["id"] for a in batch] == [1, 2]


def test_nothing_is_written_whatever_the_environment_says(ask, tmp_path):
    shutil.copy(TOUR, tmp_path / "run.assay")
    bytes_before = (tmp_path / "run.assay").read_bytes()
    answer, = ask(call("report", path="run.assay"), env={"ASSAY_OUTPUT": str(tmp_path / "out.txt"), "ASSAY_FORCE": "1", "ASSAY_RECOVER": "1"})
    assert "findings" in text_of(answer)
    assert os.listdir(tmp_path) == ["run.assay"] and (tmp_path / "run.assay").read_bytes() == bytes_before


SECRETS = {
    "token": "hunter2-hunter2\n", "pairs": "machine h login u password hunter2\n", "ini": "[default]\nsecret = hunter2\n", "json": '{"token": "hunter2", "a": 1}\n', "lines": '{"type": "hunter2"}\n{"x": "hunter2"}\n',
    "csv": "name,hunter2,password\nx,1,hunter2\n", "time": "time,hunter2\n1,hunter2\n", "exposition": "# HELP hunter2 x\nhunter2{a=\"hunter2\"} 1\n", "columns": "#Entity  hunter2  SMACT\nGPU hunter2  1\n",
    "list": '["hunter2"]\n', "one line": "x" * 300000 + "hunter2", "key": "-----BEGIN KEY-----\nhunter2\n",
}


@pytest.mark.parametrize("what", SECRETS)
def test_what_is_no_recording_is_not_quoted(ask, tmp_path, what):
    """An agent may name any file of its user's."""
    (tmp_path / "file").write_text(SECRETS[what])
    (tmp_path / "folder").mkdir()
    for name in ("manifest.json", "hw_metrics.csv", "x.assay", "log.jsonl"):
        (tmp_path / "folder" / name).write_text(SECRETS[what])
    for answer in ask(*(call(tool, path=path) for tool in ("report", "stacks", "once", "why") for path in ("file", "folder")), call("report", path="file", format="json"),
                      call("diff", base=["file"], new=["folder"])):
        assert answer["result"]["isError"] and "hunter2" not in text_of(answer), answer


def test_an_answer_is_bounded(ask, tmp_path):
    """A capture of many GPUs as JSON has several megabytes."""
    rows = "\n".join(f"GPU {i}  0.5  0.5  100" for i in range(1024))
    (tmp_path / "many.txt").write_text("#Entity  SMACT  TENSO  POWER\n" + rows + "\n")
    answer, = ask(call("once", path="many.txt", json=True))
    assert answer["result"]["isError"] and "more than 1 MiB" in text_of(answer) and "ask for text" in text_of(answer)


def test_a_hostile_file_ends_only_its_own_call(ask, tmp_path):
    (tmp_path / "bad.assay").write_bytes(b"SQLite format 3\0" + os.urandom(4000))
    shutil.copy(TOUR, tmp_path / "run.assay")
    bad, good = ask(call("report", path="bad.assay"), call("report", path="run.assay"))
    assert bad["result"]["isError"] and not good["result"]["isError"]
