"""Writes each metric into a database, and asks for a sum after each."""
import os
import sqlite3
import tempfile

from common import steps

FOLDER = tempfile.mkdtemp()


def log(db, step, name, value):
    db.execute("insert into metrics values (?, ?, ?)", (step, name, value))


def summary(db):
    return db.execute("select name, avg(value), count(*) from metrics group by name order by 2").fetchall()  # PLACE


def train():
    db = sqlite3.connect(os.path.join(FOLDER, "metrics.db"))
    db.execute("create table metrics (step, name, value)")
    for step in steps():
        for name in "abcdefgh":
            for i in range(20):
                log(db, step, name, i * step)
        for _ in range(10):
            summary(db)


train()
