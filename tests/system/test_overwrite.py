"""No result is written over what it was made from, nor over another recording unless asked."""
import os
import shutil
import subprocess

import pytest


@pytest.fixture
def session(assay, tmp_path):
    path = tmp_path / "s.assay"
    assert assay("record", "-q", "--duration", "0.2", "--interval", "0.1", "-o", path).returncode == 0
    return path


@pytest.fixture
def capture(tmp_path):
    path = tmp_path / "capture.txt"
    path.write_text("# Entity  GPUTL  MCUTL\n     ID\n  GPU 0  50  10\n  GPU 0  51  11\n")
    return path


def same(path):
    return path


def through_link(path):
    os.symlink(path, path.parent / "link")
    return path.parent / "link"


def through_hard_link(path):
    os.link(path, path.parent / "hard")
    return path.parent / "hard"


def through_folder(path):
    os.symlink(path.parent, path.parent / "folder")
    return path.parent / "folder" / ".." / path.parent.name / path.name


WAYS = pytest.mark.parametrize("way", [same, through_link, through_hard_link, through_folder], ids=lambda w: w.__name__)


@WAYS
@pytest.mark.parametrize("force", [[], ["--force"]], ids=["plain", "force"])
@pytest.mark.parametrize("words", [["report"], ["report", "--format", "json"], ["report", "--format", "html"], ["plot"]], ids=" ".join)
def test_never_over_the_input(assay, session, way, force, words):
    if words == ["plot"]:
        session = session.rename(session.with_suffix(".svg"))
    before, out = session.read_bytes(), way(session)
    if words == ["plot"] and out.suffix != ".svg":
        out = out.rename(out.with_suffix(".svg").with_stem(out.stem + "2"))
    done = assay(*words, session, "-o", out, *force)
    assert done.returncode == 2 and "is what is being read" in done.stderr, done.stderr
    assert session.read_bytes() == before


@WAYS
def test_convert_record_and_run_too(assay, session, way, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    before, out = session.read_bytes(), way(session)
    assert assay("convert", session, out, "--to", "csv").returncode == 2
    assert assay("convert", session, out, "--to", "session").returncode == 2
    assert assay("record", "--source", session, "-o", out).returncode == 2
    assert assay("run", "-o", out, "--", "true").returncode == 0  # recorded under another name
    assert session.read_bytes() == before


def test_what_sqlite_keeps_beside_it(assay, session, tmp_path):
    wal = tmp_path / "s.assay-wal"
    wal.write_text("")
    (tmp_path / "elsewhere").mkdir()
    link = tmp_path / "elsewhere" / "link.assay"
    link.symlink_to(session)
    for path in (session, link):
        assert assay("report", path, "-o", wal, "--force").returncode == 2 and wal.read_text() == ""


def test_a_part_of_the_input_folder(assay, tmp_path):
    folder = tmp_path / "monitor"
    folder.mkdir()
    (folder / "hw_metrics.csv").write_text("timestamp, index, utilization.gpu [%]\n2026/01/01 00:00:00.000, 0, 5 %\n")
    (folder / "notes.txt").write_text("x")
    for name in ("hw_metrics.csv", "notes.txt"):
        before = (folder / name).read_bytes()
        done = assay("report", folder, "-o", folder / name)
        assert done.returncode == 2 and "is what is being read" in done.stderr
        assert (folder / name).read_bytes() == before
    assert assay("report", folder, "-o", folder / "report.txt").returncode == 0


def test_other_recordings_need_force(assay, session, capture, tmp_path):
    other = tmp_path / "other.assay"
    shutil.copy(session, other)
    zipped = tmp_path / "notebook.zip"
    zipped.write_bytes(b"PK\3\4 and so on")
    for victim in (other, capture, zipped):
        before = victim.read_bytes()
        done = assay("report", session, "-o", victim)
        assert done.returncode == 2 and "is a recording" in done.stderr and "--force" in done.stderr
        assert victim.read_bytes() == before
        assert assay("report", session, "-o", victim, "--force").returncode == 0
        assert victim.read_bytes() != before


def test_an_older_report_is_replaced_whole(assay, session, tmp_path):
    out = tmp_path / "report.txt"
    assert assay("report", session, "-o", out).returncode == 0
    first = out.read_text()
    out.write_text(first + "x" * 100000)
    assert assay("report", session, "-o", out).returncode == 0 and out.read_text() == first
    for form in ("json", "html", "resource-summary"):
        for _ in range(2):
            done = assay("report", session, "--format", form, "-o", tmp_path / f"r.{form}")
            assert done.returncode == 0, done.stderr
    for _ in range(2):
        assert assay("plot", session, "-o", tmp_path / "p.svg").returncode == 0


def test_standard_output_that_is_the_input(program, session, capture):
    """As cat refuses: the file would grow while it is read."""
    for path, words in ((session, ["report"]), (session, ["plot"]), (capture, ["export", "--source"]), (capture, ["convert"])):
        before = path.read_bytes()
        with open(path, "ab") as out:
            more = ["-", "--to", "csv"] if words == ["convert"] else []
            done = subprocess.run([program, *words, path, *more], stdout=out, stderr=subprocess.PIPE, timeout=30, check=False)
        assert done.returncode == 2 and path.read_bytes() == before, words


def test_places_that_are_no_files(assay, session):
    assert assay("report", session, "-o", "/dev/null").returncode == 0
    assert assay("report", session, "-o", "/dev/stdout").stdout


def test_a_log_is_no_session(assay, session):
    before = session.read_bytes()
    done = assay("mark", "event", "x", "--log", session)
    assert done.returncode == 2 and "is a session, and no log" in done.stderr
    assert session.read_bytes() == before


NOBODY = 65534
LEADING = {"a link": lambda at, victim: os.symlink(victim, at), "a hard link": lambda at, victim: os.link(victim, at),
           "a link to a link": lambda at, victim: (os.symlink(victim, at.with_suffix(".2")), os.lchown(at.with_suffix(".2"), NOBODY, -1), os.symlink(at.with_suffix(".2"), at))}


@pytest.fixture
def victim(tmp_path):
    path = tmp_path / "victim.html"
    path.write_text("mine")
    return path


@pytest.mark.skipif(os.geteuid() != 0, reason="takes root to act as two users")
@pytest.mark.parametrize("mode, owner", [(0o1777, 0), (0o777, 0), (0o755, NOBODY), (0o775, 0)], ids=["sticky", "open to all", "another user's", "open to a group"])
@pytest.mark.parametrize("planted", LEADING)
def test_what_another_user_planted_is_not_followed(assay, session, tmp_path, victim, mode, owner, planted):
    shared = tmp_path / "shared"
    shared.mkdir()
    at = shared / "out.html"
    LEADING[planted](at, victim)
    if planted != "a hard link":
        os.lchown(at, NOBODY, -1)
    os.chown(shared, owner, -1)
    shared.chmod(mode)
    for words in (["report", session, "-o", at], ["report", session, "-o", at, "--force"], ["diff", session, session, "-o", at], ["run", "-o", tmp_path / "r.assay", "--log", at, "true"],
                  ["mark", "event", "x", "--session", session, "--log", at]):
        done = assay(*words)
        assert victim.read_text() == "mine", words
        assert done.returncode != 0 or words[0] == "run", words
        assert f"'{at}': it " in done.stderr and ("link that another user made" in done.stderr or "has a second name" in done.stderr), done.stderr
        for name in tmp_path.glob("r.assay*"):
            name.unlink()


@pytest.mark.skipif(os.geteuid() != 0, reason="takes root to act as two users")
def test_a_folder_that_another_user_planted_is_not_entered(assay, session, tmp_path, victim):
    shared = tmp_path / "shared"
    shared.mkdir(mode=0o1777)
    shared.chmod(0o1777)
    os.symlink(tmp_path, shared / "folder")
    os.lchown(shared / "folder", NOBODY, -1)
    done = assay("report", session, "-o", shared / "folder" / victim.name)
    assert done.returncode == 1 and "it is a link that another user made" in done.stderr and victim.read_text() == "mine"


@pytest.mark.skipif(os.geteuid() != 0, reason="takes root to act as two users")
def test_a_file_that_another_user_planted_is_not_filled(assay, session, tmp_path):
    """Whoever made it could read it, whatever its mode says later."""
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o1777)
    at = shared / "out.html"
    at.write_text("")
    at.chmod(0o666)
    os.chown(at, NOBODY, -1)
    done = assay("report", session, "-o", at)
    assert done.returncode == 1 and "another user put it there" in done.stderr and at.read_text() == ""


def test_links_of_ones_own_are_followed(assay, session, tmp_path, victim):
    """In one's own folder, through several links and folders, and where anybody may write."""
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o1777)
    os.symlink("../victim.html", shared / "a")
    os.symlink("a", shared / "b")
    os.symlink(".", tmp_path / "here")
    for at in (shared / "b", tmp_path / "here" / "here" / "shared" / "a", tmp_path / "here" / ".." / tmp_path.name / "victim.html"):
        victim.write_text("")
        done = assay("report", session, "-o", at)
        assert done.returncode == 0 and "samples" in victim.read_text(), done.stderr
    os.symlink("loop", tmp_path / "loop")
    done = assay("report", session, "-o", tmp_path / "loop")
    assert done.returncode == 1 and "Too many levels" in done.stderr
    done = assay("report", session, "-o", tmp_path / "none" / "x")
    assert done.returncode == 1 and "No such file" in done.stderr


def test_what_is_no_file_is_written_to(assay, program, session, tmp_path):
    assert "samples" in assay("report", session, "-o", "/dev/stdout").stdout
    assert "samples" in assay("report", session, "-o", "/proc/self/fd/1").stdout
    assert assay("report", session, "-o", "/dev/null").returncode == 0
    done = subprocess.run(["bash", "-c", f"'{program}' report '{session}' -o >(cat >'{tmp_path}/got'); sleep 0.3"], capture_output=True, text=True, timeout=30, check=False)
    assert done.returncode == 0 and "samples" in (tmp_path / "got").read_text(), done.stderr


@pytest.mark.skipif(os.geteuid() != 0, reason="takes root to act as two users")
def test_nothing_is_made_in_a_folder_that_another_user_put_there(assay, session, tmp_path):
    """A link in the place of a folder, on the way to new files of every kind."""
    shared, mine = tmp_path / "shared", tmp_path / "mine"
    shared.mkdir()
    mine.mkdir()
    shared.chmod(0o1777)
    os.symlink(mine, shared / "folder")
    os.lchown(shared / "folder", NOBODY, NOBODY)
    at = shared / "folder"
    for words in (["record", "-q", "--duration", "0.1", "-o", at / "x.assay"], ["convert", session, at / "x.csv"], ["convert", session, at / "x.assay"],
                  ["convert", session, at / "x.zip", "--to", "notebook"], ["convert", session, at / "nb", "--to", "notebook"], ["convert", session, at, "--to", "notebook"],
                  ["baseline", "add", "x", session, "--baselines", at], ["plot", session, "-o", at / "x.svg"]):
        done = assay(*words)
        assert done.returncode == 1 and "it is a link that another user made" in done.stderr, (words, done)
        assert not list(mine.iterdir()), words
    # What is recorded is not lost for it.
    done = assay("run", "-o", at / "x.assay", "sh", "-c", "exit 4")
    assert done.returncode == 4 and "it is a link that another user made" in done.stderr and not list(mine.iterdir()), done
    os.lchown(shared / "folder", 0, 0)
    assert assay("convert", session, at / "x.csv").returncode == 0


@pytest.mark.skipif(os.geteuid() != 0, reason="takes root to act as two users")
@pytest.mark.parametrize("read", [True, False], ids=["read", "unread"])
def test_a_pipe_that_another_user_planted_is_not_written_to(assay, session, tmp_path, read):
    """Whoever made it would read what is written, or keep the writer waiting."""
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o1777)
    at = shared / "out.svg"
    os.mkfifo(at)
    os.chown(at, NOBODY, NOBODY)
    at.chmod(0o666)
    reader = os.open(at, os.O_RDONLY | os.O_NONBLOCK) if read else -1
    for words in (["report", session, "-o", at], ["plot", session, "-o", at], ["diff", session, session, "-o", at], ["mark", "event", "x", "--session", session, "--log", at]):
        done = assay(*words, timeout=10)
        assert done.returncode != 0 and "another user put it there" in done.stderr or words[0] == "diff" and done.returncode == 3, (words, done)
        assert not read or os.read(reader, 10) == b"", words
    if read:
        os.close(reader)


@pytest.mark.skipif(os.geteuid() != 0, reason="takes root to act as two users")
@pytest.mark.parametrize("name, more", [("x.zip", ["--to", "notebook"]), ("x.csv", []), ("x.assay", [])])
def test_a_link_to_nothing_is_not_followed(assay, session, tmp_path, name, more):
    """Nothing is there yet where it leads, so nothing seems to be written over."""
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o1777)
    os.symlink(tmp_path / "elsewhere", shared / name)
    os.lchown(shared / name, NOBODY, NOBODY)
    done = assay("convert", session, shared / name, *more)
    assert done.returncode == 1 and not (tmp_path / "elsewhere").exists(), done
