"""Memory of a CPython that never ran: an ELF image with symbols, a runtime, threads, frames, code, names and line tables.

As a program it writes the corpus of fuzz_stack_memory: images of versions, and of what goes wrong in them.
"""
import pathlib
import struct
import sys

BASE = 0x10000
ZERO = b"\0"


def gnu_hash(name):
    value = 5381
    for c in name.encode():
        value = (value * 33 + c) & 0xffffffff
    return value


class Image:
    """Memory from BASE on; everything is put behind what is there."""

    def __init__(self, machine=62):
        self.data = bytearray(4096)
        self.machine = machine

    def room(self, size, align=16):
        self.data += ZERO * (-len(self.data) % align)
        at = BASE + len(self.data)
        self.data += ZERO * size
        return at

    def put(self, at, fmt, *values):
        raw = struct.pack("<" + fmt, *values)
        self.data[at - BASE:at - BASE + len(raw)] = raw

    def add(self, raw, align=16):
        at = self.room(len(raw), align)
        self.data[at - BASE:at - BASE + len(raw)] = raw
        return at

    def symbols(self, table):
        """The ELF header and what it needs to find the names of a table of addresses. One bucket, so their order is free."""
        names = b"\0" + b"\0".join(n.encode() for n in table) + b"\0"
        strings = self.add(names)
        syms = bytearray(24)
        for name, value in table.items():
            syms += struct.pack("<IBBHQQ", names.index(b"\0" + name.encode() + b"\0") + 1, 0x11, 0, 7, value - BASE, 8)
        symtab = self.add(bytes(syms))
        hashes = [gnu_hash(n) & ~1 for n in table]
        hashes[-1] |= 1
        hashed = self.add(struct.pack("<IIII", 1, 1, 1, 0) + struct.pack("<Q", 2**64 - 1) + struct.pack("<I", 1) + struct.pack(f"<{len(hashes)}I", *hashes))
        dynamic = self.add(b"".join(struct.pack("<QQ", *d) for d in ((6, symtab), (5, strings), (10, len(names)), (0x6ffffef5, hashed), (0, 0))))
        size = len(self.data)
        header = b"\x7fELF\x02\x01\x01" + ZERO * 9 + struct.pack("<HHIQQQIHHHHHH", 3, self.machine, 1, 0, 64, 0, 0, 64, 56, 2, 0, 0, 0)
        load = struct.pack("<IIQQQQQQ", 1, 6, 0, 0, 0, size, size, 4096)
        dyn = struct.pack("<IIQQQQQQ", 2, 6, dynamic - BASE, dynamic - BASE, 0, 80, 80, 8)
        self.data[:64 + 112] = header + load + dyn
        return self

    def text(self, s, ascii_at):
        raw = s.encode("ascii")
        return self.add(struct.pack("<QQQQI", 1, 0, len(raw), 0, 1 << 2 | 1 << 5 | 1 << 6) + ZERO * (ascii_at - 36) + raw + ZERO)

    def bytes(self, raw):
        return self.add(struct.pack("<QQQQ", 1, 0, len(raw), 0) + raw + ZERO)

    def done(self):
        return bytes(self.data)


# Offsets of the versions that are made here, apart from the program's own table.
OLD = {"interpreters": 32, "threads": 8, "interp": 16, "current": 24, "pthread": 176, "frame": (32, 24, 104), "code": (104, 112, None, 40, 120, 48), "ascii": 48,
       "units": 1}
NEW = {"interpreters": 632, "threads": 7344, "interp": 16, "current": 72, "pthread": 152, "frame": (0, 8, 56), "code": (112, 120, 128, 68, 136, 200), "ascii": 40,
       "units": 2}
OFFSETS_3_13 = [0x030d00f0, 0, 9000, 8, 632, 8000, 7272, 7264, 7344, 10, 11, 12, 13, 16, 7600, 0, 7616, 7608, 304, 0, 8, 16, 72, 152, 160, 232, 40,
                80, 8, 0, 56, 72, 70, 208, 112, 120, 128, 136, 68, 52, 96, 104, 200]


def process(version, frames, lines=b"\xf8\x01\xd8\x05", threads=1):
    """An image whose threads have these frames: (file, function, first line), the innermost first."""
    o = NEW if version == 13 else OLD
    m = Image()
    runtime, interp = m.room(9000), m.room(8000)
    kind = m.room(64)
    m.put(kind + 24, "Q", m.add(b"code\0"))
    if version == 13:
        m.put(runtime, f"8s{len(OFFSETS_3_13)}Q", b"xdebugpy", *OFFSETS_3_13)
    m.put(runtime + o["interpreters"], "Q", interp)
    previous = 0
    for file, function, first in reversed(frames):
        name = m.text(function, o["ascii"])
        code, frame = m.room(400), m.room(120)
        at = o["code"]
        m.put(code + 8, "QQ", kind, 8)
        m.put(code + at[0], "Q", m.text(file, o["ascii"]))
        m.put(code + at[1], "Q", name)
        if at[2]:
            m.put(code + at[2], "Q", name)
        m.put(code + at[3], "I", first)
        m.put(code + at[4], "Q", m.bytes(lines))
        m.put(frame + o["frame"][0], "Q", code)
        m.put(frame + o["frame"][1], "Q", previous)
        m.put(frame + o["frame"][2], "Q" if o["units"] == 2 else "i", code + at[5] + 2 if o["units"] == 2 else 2)
        previous = frame
    later = 0
    for _ in range(threads):
        thread = m.room(400)
        m.put(thread + 8, "QQ", later, interp)
        m.put(thread + o["current"], "Q", previous)
        later = thread
    m.put(interp + o["threads"], "Q", later)
    names = {"_PyRuntime": runtime, "PyCode_Type": kind}
    if version != 13:
        names |= {"PyCode_NewWithPosOnlyArgs": kind, "PyFrame_GetBack": kind}
    return m.symbols(names), previous


def corpus():
    """Name and bytes of each image."""
    plain = [("train.py", "step", 10), ("train.py", "main", 2)]
    for version in (9, 13):
        yield f"plain_3_{version}", process(version, plain)[0].done()
        yield f"threads_3_{version}", process(version, plain, threads=40)[0].done()
        yield f"escapes_3_{version}", process(version, [("\x1b[2Ja.py", "\x07f\n", 1)])[0].done()
        yield f"deep_3_{version}", process(version, [("a.py", "f", i + 1) for i in range(300)])[0].done()
        yield f"bad_lines_3_{version}", process(version, plain, lines=b"\xff" * 50)[0].done()
        m, frame = process(version, plain)
        m.put(frame + (NEW if version == 13 else OLD)["frame"][1], "Q", frame)
        yield f"loop_3_{version}", m.done()
        whole = process(version, plain)[0].done()
        yield f"cut_3_{version}", whole[:len(whole) // 2]
    m, _ = process(13, plain)
    at = m.data.index(b"train.py") - 24
    m.data[at:at + 8] = struct.pack("<Q", 2**63)
    yield "long_name", m.done()
    m, _ = process(13, plain)
    at = m.data.index(b"xdebugpy") + 16
    m.data[at:at + 8] = struct.pack("<Q", 1)
    yield "free_threaded", m.done()
    m.data[at - 8:at + 8] = struct.pack("<QQ", 0x031400f0, 0)
    yield "too_new", m.done()
    m, _ = process(13, plain)
    m.data[m.data.index(b"_PyRuntime")] = ord("x")
    yield "no_symbols", m.done()
    m = Image()
    m.symbols({"main": BASE + 64})
    yield "no_python", m.done()
    struct.pack_into("<H", m.data, 56, 65535)
    yield "many_headers", m.done()


if __name__ == "__main__":
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for title, raw in corpus():
        (folder / title).write_bytes(raw)
