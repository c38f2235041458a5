"""The folder of marks beside a session: another user's, a link, files of others; reading removes nothing."""
import os
import pathlib
import shutil
import socket
import sqlite3
import stat
import struct
import subprocess
import time

import pytest

NOBODY = 65534
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="takes two users")
NAME = "00000000000000aa-00000000000000bb-7-host"
MARK = '{"wall_ns":1700000000000000000,"mono_ns":5,"pid":7,"type":"metric","host":"h","name":"planted","value":1}\n'


def events(path):
    db = sqlite3.connect(path)
    try:
        return [row[0] for row in db.execute("select name from mark order by wall_ns")]
    finally:
        db.close()


def put_mark(folder):
    (folder / NAME).write_text(MARK)


@pytest.fixture
def session(assay, tmp_path):
    """A finished session."""
    path = tmp_path / "run.assay"
    assert assay("record", "-q", "--duration", "0.2", "--interval", "0.1", "-o", path).returncode == 0
    return path


@pytest.fixture
def shared(tmp_path):
    """A folder in which anybody may write, and a user who does."""
    folder = tmp_path / "shared"
    folder.mkdir()
    for parent in [*tmp_path.parents][:-1]:
        parent.chmod(parent.stat().st_mode | 0o011) if parent.stat().st_uid == os.geteuid() and parent != parent.parent else None
    tmp_path.chmod(0o755)
    folder.chmod(0o777)
    return folder


READERS = [["report"], ["report", "--format", "json"], ["plot", "-o", "{out}"], ["export", "--source"], ["once", "--source"]]


@pytest.mark.parametrize("words", READERS, ids=" ".join)
def test_reading_removes_nothing_through_a_link(assay, session, tmp_path, words):
    documents = tmp_path / "documents"
    documents.mkdir(mode=0o700)
    (documents / "thesis").write_text("years of work")
    put_mark(documents)
    os.symlink(documents, f"{session}-marks")
    before = session.read_bytes()
    done = assay(*[w.format(out=tmp_path / "out.svg") for w in words], session)
    assert done.returncode == 0, done.stderr
    assert sorted(os.listdir(documents)) == [NAME, "thesis"] and session.read_bytes() == before
    assert "planted" not in done.stdout


@pytest.mark.parametrize("words", READERS, ids=" ".join)
def test_reading_shows_marks_that_wait_and_leaves_them(assay, session, tmp_path, words):
    spool = tmp_path / "run.assay-marks"
    spool.mkdir(mode=0o700)
    put_mark(spool)
    before = session.read_bytes()
    done = assay(*[w.format(out=tmp_path / "out.svg") for w in words], session)
    assert done.returncode == 0, done.stderr
    assert os.listdir(spool) == [NAME] and session.read_bytes() == before
    if "json" in words:
        assert '"planted"' in done.stdout


def test_recover_takes_them_in_when_asked(assay, session, tmp_path):
    spool = tmp_path / "run.assay-marks"
    spool.mkdir(mode=0o700)
    put_mark(spool)
    done = assay("report", "--recover", session)
    assert done.returncode == 0 and "1 marks taken into" in done.stderr
    assert events(session) == ["planted"] and not spool.exists()
    done = assay("report", "--recover", session)
    assert done.returncode == 0 and events(session) == ["planted"]


@pytest.mark.slow
def test_recover_takes_in_more_than_a_batch(assay, session, tmp_path):
    """A recorder takes in 20,000 at a time; one that was killed may leave many more."""
    n = 20001
    spool = tmp_path / "run.assay-marks"
    spool.mkdir(mode=0o700)
    for i in range(n):
        (spool / f"{i:016x}-{i:016x}-7-host").write_text(MARK.replace('"mono_ns":5', f'"mono_ns":{i}').replace("planted", f"m{i}"))
    done = assay("report", "--recover", session, timeout=60)
    assert done.returncode == 0 and f"{n} marks taken into" in done.stderr
    assert sorted(int(name[1:]) for name in events(session)) == list(range(n)) and not spool.exists()


def test_recover_takes_only_files_of_ours_with_names_of_ours(assay, session, tmp_path):
    spool, other = tmp_path / "run.assay-marks", tmp_path / "other"
    spool.mkdir(mode=0o700)
    other.write_text(MARK)
    (spool / "notes.txt").write_text(MARK)
    (spool / "00000000000000aa-bb-7-host").write_text(MARK)
    os.symlink(other, spool / NAME)
    os.link(other, spool / NAME.replace("aa", "ab"))
    os.mkfifo(spool / NAME.replace("aa", "ac"))
    (spool / NAME.replace("aa", "ad")).mkdir()
    put_mark_as = spool / NAME.replace("aa", "ae")
    put_mark_as.write_text(MARK)
    left = sorted(n for n in os.listdir(spool) if n != put_mark_as.name)
    done = assay("report", "--recover", session)
    assert done.returncode == 0 and events(session) == ["planted"]
    assert sorted(os.listdir(spool)) == left and other.read_text() == MARK


def test_recover_does_not_take_from_a_recorder_that_lives(program, assay, tmp_path):
    path = tmp_path / "live.assay"
    with subprocess.Popen([program, "record", "-q", "--interval", "0.1", "-o", path], stderr=subprocess.DEVNULL) as p:
        while not path.exists():
            time.sleep(0.01)
        done = assay("report", "--recover", path)
        assert done.returncode == 1 and "still being recorded" in done.stderr
        assert (tmp_path / "live.assay-marks").is_dir()
        p.terminate()
        assert p.wait(20) == 0


def plant_link(path, folder):
    folder.mkdir(mode=0o700)
    os.symlink(folder, path)


def plant_open(path, folder):
    path.mkdir()
    path.chmod(0o777)
    folder.mkdir(mode=0o700)


def plant_fifo(path, folder):
    os.mkfifo(path)
    folder.mkdir(mode=0o700)


def plant_file(path, folder):
    path.write_text("mine")
    folder.mkdir(mode=0o700)


def plant_socket(path, folder):
    folder.mkdir(mode=0o700)
    here = os.getcwd()
    os.chdir(path.parent)
    with socket.socket(socket.AF_UNIX) as s:
        s.bind(path.name)
    os.chdir(here)


@pytest.mark.parametrize("plant, why", [
    (plant_link, "it is a link or a file"),
    (plant_open, "its mode is not 0700"),
    (plant_fifo, "it is a link or a file"),
    (plant_file, "it is a link or a file"),
    (plant_socket, "it is a link or a file"),
], ids=["link", "open", "fifo", "file", "socket"])
def test_what_cannot_be_trusted_is_refused_and_recording_goes_on(program, assay, tmp_path, plant, why):
    path, spool, folder = tmp_path / "x.assay", tmp_path / "x.assay-marks", tmp_path / "documents"
    plant(spool, folder)
    (folder / NAME).write_text(MARK)
    (folder / "thesis").write_text("years of work")
    if plant is plant_open:
        put_mark(spool)
    done = assay("run", "--interval", "0.1", "-o", path, "--", "sh", "-c", f"sleep 0.3; {program} mark event mine")
    assert done.returncode == 1, done.stderr  # what mark itself says
    assert why in done.stderr and "recording without marks" in done.stderr
    assert os.path.lexists(spool) and sorted(os.listdir(folder)) == [NAME, "thesis"]
    assert events(path) == []
    assert assay("report", path).returncode == 0
    assert os.path.lexists(spool) and sorted(os.listdir(folder)) == [NAME, "thesis"]


@as_root
def test_another_users_folder_is_not_our_spool(program, assay, shared):
    """Made first by another user, private to them: root could read and empty it."""
    path, spool = shared / "x.assay", shared / "x.assay-marks"
    spool.mkdir(mode=0o700)
    put_mark(spool)
    os.chown(spool, NOBODY, NOBODY)
    os.chown(spool / NAME, NOBODY, NOBODY)
    done = assay("record", "--duration", "0.3", "--interval", "0.1", "-o", path)
    assert done.returncode == 0 and "it belongs to another user; recording without marks" in done.stderr
    assert events(path) == [] and os.listdir(spool) == [NAME]
    done = assay("mark", "event", "x", "--session", path)
    assert done.returncode == 1 and "belongs to another user" in done.stderr
    for words in (["report"], ["report", "--recover"]):
        assay(*words, path)
        assert events(path) == [] and os.listdir(spool) == [NAME]


@as_root
def test_as_another_user(program, tmp_path, shared):
    """What root made is refused to nobody, and a spool of nobody's own is private."""
    copy = tmp_path / "assay"
    shutil.copy(program, copy)
    copy.chmod(0o755)
    env = {"PATH": os.environ["PATH"], "HOME": str(shared)}

    def run(*words):
        return subprocess.run(["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", copy, *words], env=env, capture_output=True, text=True, timeout=30,
                              check=False)

    theirs = shared / "r.assay-marks"
    theirs.mkdir(mode=0o700)
    done = run("record", "--duration", "0.3", "--interval", "0.1", "-o", shared / "r.assay")
    assert done.returncode == 0 and "it belongs to another user" in done.stderr and theirs.is_dir()
    script = f"umask 0; stat -c '%a %U' {shared}/n.assay {shared}/n.assay-marks; {copy} mark event mine"
    done = run("run", "-q", "--interval", "0.1", "-o", shared / "n.assay", "--", "sh", "-c", script)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["600", "nobody", "700", "nobody"]
    assert events(shared / "n.assay") == ["mine"]


@as_root
@pytest.mark.parametrize("ending", ["-wal", "-shm", "-journal"])
def test_files_of_others_beside_the_session_are_not_written(assay, shared, ending):
    """SQLite would take over a file that another user put there."""
    path, planted = shared / "x.assay", shared / f"x.assay{ending}"
    planted.write_text("")
    os.chown(planted, NOBODY, NOBODY)
    done = assay("record", "--duration", "0.2", "-o", path)
    assert done.returncode == 1 and "is in the way" in done.stderr
    assert planted.read_text() == "" and not path.exists()


@pytest.mark.parametrize("ending", ["-wal", "-shm", "-journal"])
def test_links_beside_the_session_are_not_followed(assay, tmp_path, ending):
    victim = tmp_path / "victim"
    victim.write_text("precious")
    os.symlink(victim, tmp_path / f"x.assay{ending}")
    done = assay("record", "--duration", "0.2", "-o", tmp_path / "x.assay")
    assert done.returncode == 1 and "is in the way" in done.stderr
    assert victim.read_text() == "precious"


def test_new_files_are_private(assay, session, tmp_path):
    assert stat.S_IMODE(session.stat().st_mode) == 0o600


def journal(path, another):
    """A journal that a killed program left: page 1 as it was, and the name of a second file that SQLite removes with it."""
    page = path.read_bytes()[:4096]
    pages = path.stat().st_size // 4096
    head = bytes.fromhex("d9d505f920a163d7") + struct.pack(">5I", 1, 0, pages, 512, 4096)
    total = sum(page[i] for i in range(4096 - 200, 0, -200)) & 0xffffffff
    text = head.ljust(512, b"\0") + struct.pack(">I", 1) + page + struct.pack(">I", total)
    if another:
        name = os.fsencode(another)
        lock_page = struct.pack(">I", 0x40000000 // 4096 + 1)
        text += lock_page + name + struct.pack(">II", len(name), sum(name) & 0xffffffff) + bytes.fromhex("d9d505f920a163d7")
    pathlib.Path(f"{path}-journal").write_bytes(text)


USERS = [*READERS, ["report", "--recover"], ["mark", "event", "x", "--session"]]


@pytest.mark.parametrize("link", [False, True], ids=["", "through a link"])
@pytest.mark.parametrize("words", USERS, ids=" ".join)
def test_a_journal_that_names_another_file_removes_nothing(assay, session, tmp_path, words, link):
    """SQLite looks for it beside the file that a link leads to."""
    thesis = tmp_path / "thesis"
    thesis.write_text("years of work")
    journal(session, thesis)
    if link:
        (tmp_path / "gift").mkdir()
        (tmp_path / "gift" / "run.assay").symlink_to(session)
        session = tmp_path / "gift" / "run.assay"
    done = assay(*[w.format(out=tmp_path / "out.svg") for w in words], session)
    assert thesis.read_text() == "years of work"
    assert done.returncode != 0 and done.stderr.startswith("assay: "), done.stderr


def test_what_was_left_half_done_is_undone_when_asked(assay, session):
    journal(session, None)
    done = assay("report", session)
    assert done.returncode == 1 and "left in the middle of a write" in done.stderr and "--recover" in done.stderr
    assert os.path.exists(f"{session}-journal")
    assert assay("report", "--recover", session).returncode == 0
    assert not os.path.exists(f"{session}-journal") and assay("report", session).returncode == 0


def no_plain_file(kind, path):
    if kind == "fifo":
        os.mkfifo(path)
    elif kind == "folder":
        os.mkdir(path)
    else:
        os.symlink({"link": "victim", "device": "/dev/zero"}[kind], path)


@pytest.mark.parametrize("ending", ["-wal", "-shm", "-journal"])
@pytest.mark.parametrize("kind", ["fifo", "folder", "link", "device"])
def test_nobody_waits_for_what_is_no_file_beside_a_session(assay, session, tmp_path, ending, kind):
    """A journal that is a fifo kept every reader waiting."""
    (tmp_path / "victim").write_text("precious")
    no_plain_file(kind, f"{session}{ending}")
    for words in USERS:
        done = assay(*[w.format(out=tmp_path / "out.svg") for w in words], session)
        assert done.returncode == 1 and f"{session}{ending}' is in the way: it is not a plain file" in done.stderr, (words, done.stderr)
    assert os.path.lexists(f"{session}{ending}") and (tmp_path / "victim").read_text() == "precious"


@as_root
@pytest.mark.parametrize("ending", ["-wal", "-journal"])
def test_what_another_user_put_beside_a_session_is_not_read(assay, session, ending):
    """A log or a journal of theirs would change what is read."""
    planted = pathlib.Path(f"{session}{ending}")
    journal(session, None)
    pathlib.Path(f"{session}-journal").rename(planted)
    os.chown(planted, NOBODY, NOBODY)
    before = session.read_bytes()
    for words in (["report"], ["report", "--recover"], ["mark", "event", "x", "--session"]):
        done = assay(*words, session)
        assert done.returncode == 1 and "is in the way: it belongs to another user" in done.stderr, (words, done.stderr)
    assert session.read_bytes() == before and planted.exists()


def test_marks_go_into_sessions_alone(assay, session, tmp_path):
    """Another program's database may have a table of that name, and a stranger's more columns than ours."""
    other = tmp_path / "other.db"
    columns = "id integer primary key, wall_ns, mono_ns, host, pid, type, name, seconds, value, data, spool unique"
    db = sqlite3.connect(other)
    db.execute(f"create table mark({columns})")
    db.close()
    done = assay("mark", "event", "x", "--session", other)
    assert done.returncode == 1 and "is a database, but not a session" in done.stderr, done.stderr
    db = sqlite3.connect(session)
    db.execute("drop table mark")
    db.execute("create virtual table mark using fts4(wall_ns, mono_ns, host, pid, type, name, seconds, value, data, spool)")
    db.close()
    for words in (["mark", "event", "x", "--session"], ["report", "--recover"]):
        done = assay(*words, session)
        assert done.returncode == 1 and "its 'mark' is not a plain table" in done.stderr, done.stderr


def test_a_mark_takes_no_more_room_than_a_mark(assay, session):
    """A column's default may be as long as its maker likes."""
    db = sqlite3.connect(session)
    db.execute("drop table mark")
    db.execute("create table mark(id integer primary key, wall_ns, mono_ns, host, pid, type, name, seconds, value, data, spool unique,"
               " more default(hex(zeroblob(100000000))))")
    db.close()
    done = assay("mark", "event", "x", "--session", session)
    assert done.returncode == 1 and "too big" in done.stderr and "network" not in done.stderr, done.stderr
    assert session.stat().st_size < 1 << 20
