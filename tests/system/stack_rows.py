"""Rows of stack_window, packed by hand as docs/SESSION.md has them."""


class Kinds:
    """The kinds of one session: what a thread was seen doing gets a number when it is first asked for."""

    def __init__(self, db):
        self.db, self.ids = db, {}
        self.first = db.execute("select coalesce(max(id) + 1, 0) from stack_kind").fetchone()[0]

    def row(self, thread, stack, call, flags, looks, ms):
        key = (thread, stack, call, flags)
        if key not in self.ids:
            self.ids[key] = self.first + len(self.ids)
            self.db.execute("insert into stack_kind values(?, ?, ?, ?, ?)", (self.ids[key], *key))
        return self.ids[key].to_bytes(3, "big") + bytes((looks,)) + ms.to_bytes(2, "big")
