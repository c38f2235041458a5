"""Loaded into pytest by lines.py and hunt.py: what each test executes, and how long it may take.

    ASSAY_LINES=FILE     write one line of JSON a test: its name, whether it passed, its seconds and the lines that it executes
    ASSAY_SECONDS=FILE   {test: seconds it took before}: one that takes much longer hangs
"""
import json
import os
import pathlib

import pytest

import gcov

PATIENCE_S = 8
PATIENCE_TIMES = 5


class Lines:
    """Counts are taken and cleared after each test."""

    def __init__(self, path):
        self.out = open(path, "a", encoding="utf-8")
        self.counts = gcov.Counts(pathlib.Path(os.environ["ASSAY"]).parent)
        self.seconds, self.failed = {}, set()

    def pytest_sessionstart(self):
        self.counts.take()

    def pytest_runtest_logreport(self, report):
        self.seconds[report.nodeid] = self.seconds.get(report.nodeid, 0) + report.duration
        if report.outcome != "passed":
            self.failed.add(report.nodeid)

    def write(self, name, passed, seconds):
        lines, branches = self.counts.take()
        self.out.write(json.dumps({"name": name, "passed": passed, "seconds": round(seconds, 2), "lines": lines, "branches": branches}) + "\n")
        self.out.flush()

    def pytest_runtest_logfinish(self, nodeid):
        self.write(nodeid, nodeid not in self.failed, self.seconds.get(nodeid, 0))

    def pytest_sessionfinish(self, session):
        """What fixtures of a whole file executed at their end."""
        if session.items:
            self.write(session.items[0].nodeid.partition("::")[0], True, 0)


def pytest_configure(config):
    if os.environ.get("ASSAY_LINES"):
        config.pluginmanager.register(Lines(os.environ["ASSAY_LINES"]))


def pytest_collection_modifyitems(items):
    path = os.environ.get("ASSAY_SECONDS")
    before = json.loads(pathlib.Path(path).read_text()) if path else {}
    for item in items:
        if item.nodeid in before:
            item.add_marker(pytest.mark.timeout(PATIENCE_S + PATIENCE_TIMES * before[item.nodeid]))
