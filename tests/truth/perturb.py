"""What a session would look like had it been recorded a little differently: `python3 perturb.py HOW IN.assay OUT.assay`.

half: every second tick is lost; 5hz, 1hz: sampled less often, with means over the longer window. A session with longer ticks stays as it is.
noise: each value up to 2 % more or less. no-host: nothing of the host; no-pipes: no counters of pipes; no-gpm: none of profiling at all.
no-gpm+pcie: the same with the bytes over PCIe, of one tick a second, as the driver gives them without profiling.
other-card: that, of a card that is not the one it was recorded on: it draws 5 to 45 % of the limit at rest and 60 to 105 % at most, its memory controller's
share is 0.75 to 1.3 of the one that was seen, its utilization is renewed once a second, and every other one has its clocks locked. The seed draws the card.
amd, intel: what the kernel tells of GPUs of other makers, whose model nobody knows: no counters, no bytes over PCIe, on Intel's no memory controller.
head, tail: the first or the last three seconds are cut off, of a run below twelve seconds a quarter.
"""
import random
import shutil
import sqlite3
import sys

TICKS = 128  # of a block
PIPES = {"tensor_active", "fp64_active", "fp32_active", "fp16_active", "int_active", "tensor_hmma_active", "tensor_imma_active",
         "tensor_dfma_active"}
PROFILING = PIPES | {"gr_active", "sm_active", "sm_occupancy", "dram_active", "pcie_rx", "pcie_tx", "nvlink_rx", "nvlink_tx", "nvlink_total"}
LOOKED_AT = PROFILING | {"gpu_util", "processes", "fb_used", "fb_total", "pcie_gen", "pcie_gen_max", "pcie_width", "pcie_width_max", "power", "power_limit",
                         "sm_clock", "sm_clock_max", "throttle_reasons", "mem_copy_util", "enc_util", "dec_util", "workload", "rule", "health", "findings", "lost"}
MEANS = {"ratio", "B/s", "1/s", "number"}  # of the host also cores, which are numbers
EXACT = {"pcie_gen", "pcie_gen_max", "pcie_width", "pcie_width_max", "holders", "holders_hidden", "children", "framework", "processes", "cpus"}
NOISE = 0.02
HOWS = ("half", "5hz", "1hz", "noise", "no-host", "no-pipes", "no-gpm", "no-gpm+pcie", "other-card", "amd", "intel", "head", "tail")


def unpack(width, base, state, data):
    """Values of a block; a missing one is a text of its state."""
    if width == 0:
        return [f"{state or 0}" if base is None else base] * TICKS
    top = (1 << 8 * width) - 1
    codes = (int.from_bytes(data[i:i + width], "big") for i in range(0, len(data), width))
    return [f"{top - code}" if code > top - 8 else base + code for code in codes]


def pack(values):
    """width, base, state and data of a block."""
    there = [v for v in values if not isinstance(v, str)]
    if not there:
        return 0, None, int(values[0]), None
    base = min(there)
    width = next(w for w in range(8) if max(there) - base <= (0 if w == 0 else (1 << 8 * w) - 9))
    if width == 0 and len(there) == len(values):
        return 0, base, None, None
    width, top = max(width, 1), (1 << 8 * max(width, 1)) - 1
    return width, base, None, b"".join((top - int(v) if isinstance(v, str) else v - base).to_bytes(width, "big") for v in values)


def mean(values):
    there = [v for v in values if not isinstance(v, str)]
    return round(sum(there) / len(there)) if there else values[-1]


class Table:
    """The ticks of the GPUs, or those of the host, and the series that belong to them."""

    def __init__(self, db, ticks, blocks, item, series):
        self.db, self.ticks, self.blocks, self.item = db, ticks, blocks, item
        self.series = {row[0]: row[1:] for row in db.execute(f"select id, name, unit from {series}")}
        self.rows = db.execute(f"select * from {ticks} order by id").fetchall()

    def columns(self):
        for item, series in self.db.execute(f"select distinct {self.item}, series from {self.blocks} order by 1, 2").fetchall():
            parts = dict((b, (w, base, state, data)) for b, w, base, state, data in self.db.execute(
                f"select block, width, base, state, data from {self.blocks} where {self.item} = ? and series = ?", (item, series)))
            values = []
            for block in range((len(self.rows) + TICKS - 1) // TICKS):
                part = unpack(*parts[block]) if block in parts else ["0"] * TICKS
                values += part + ["0"] * (TICKS - len(part))
            yield item, series, values[:len(self.rows)]

    def rewrite(self, groups, change, before=None):
        """Makes a tick of each group of old ones, and of their values what change says of (name, unit, values). before changes whole columns first."""
        read = list(self.columns())
        if before:
            names = {}
            for item, series, values in read:
                names.setdefault(item, {})[self.series[series][0]] = values
            seconds = [(row[1] - self.rows[0][1]) / 1e6 for row in self.rows]
            read = [(i, s, before(self.series[s][0], v, names[i], seconds)) for i, s, v in read]
        columns = [(i, s, [change(*self.series[s], v[a:b]) for a, b in groups]) for i, s, v in read]
        new = [(n, *self.rows[b - 1][1:3], self.window(a, b), self.rows[b - 1][4]) for n, (a, b) in enumerate(groups)]
        self.db.execute(f"delete from {self.ticks}")
        self.db.execute(f"delete from {self.blocks}")
        self.db.executemany(f"insert into {self.ticks} values (?, ?, ?, ?, ?)", new)
        for item, series, values in columns:
            for at in range(0, len(values), TICKS):
                self.db.execute(f"insert into {self.blocks} values (?, ?, ?, ?, ?, ?, ?)",
                                (at // TICKS, item, series, *pack(values[at:at + TICKS])))

    def window(self, a, b):
        parts = [row[3] for row in self.rows[a:b]]
        return None if None in parts else sum(parts)


def groups_of(how, table):
    """Which old ticks make a new one, from and to."""
    n = len(table.rows)
    seconds = [(row[1] - table.rows[0][1]) / 1e6 for row in table.rows]
    tick = (seconds[-1] / (n - 1) if n > 1 else 0) or 1
    if how in ("5hz", "1hz"):
        step = max(round((0.2 if how == "5hz" else 1) / tick), 1)
        return [(a, min(a + step, n)) for a in range(0, n, step)]
    if how == "half" and tick < 0.5:
        return [(a, a + 1) for a in range(0, n, 2)]
    cut = min(3, seconds[-1] / 4)
    keep = {"head": lambda s: s >= cut, "tail": lambda s: s <= seconds[-1] - cut}.get(how, lambda s: True)
    return [(a, a + 1) for a in range(n) if keep(seconds[a])]


class Card:
    """What another card would show, changed in place: columns by name, lists of stored values with texts for what is missing."""
    REST, TOP = 0.178, 1.0  # of the limit, on the card that was recorded

    def __init__(self, seed):
        chance = random.Random(f"card {seed}")
        self.rest, self.top = chance.uniform(0.05, 0.45), chance.uniform(0.6, 1.05)
        self.traffic = chance.uniform(0.75, 1.3)
        self.locked = chance.uniform(0.6, 0.95) if chance.random() < 0.5 else None

    def power(self, watts, limit):
        share = (watts / limit - self.REST) / (self.TOP - self.REST)
        return max(round((self.rest + share * (self.top - self.rest)) * limit), 1)

    def change(self, name, values, by_name, seconds):
        known = [not isinstance(v, str) for v in values]
        if name == "power":
            limits = [v for v in by_name["power_limit"] if not isinstance(v, str)]
            return [self.power(v, limits[0]) if ok and limits else v for v, ok in zip(values, known)]
        if name == "mem_copy_util":
            return [min(round(v * self.traffic / 100) * 100, 10000) if ok else v for v, ok in zip(values, known)]
        if name == "gpu_util":
            return percent(once_a_second(values, seconds))
        if name == "sm_clock" and self.locked:
            tops = [v for v in by_name["sm_clock_max"] if not isinstance(v, str)]
            return [min(v, round(self.locked * tops[0])) if ok and tops else v for v, ok in zip(values, known)]
        if name == "throttle_reasons" and self.locked:
            return [0 if ok else v for v, ok in zip(values, known)]
        return values


def once_a_second(values, seconds):
    """Each second shows the mean of the one before."""
    out, shown, second, passed = [], values[0], 0, []
    for v, s in zip(values, seconds):
        if int(s) != second:
            shown, second, passed = mean(passed) if passed else shown, int(s), []
        passed.append(v)
        out.append(shown)
    return out


def percent(values):
    return [v if isinstance(v, str) else round(v / 100) * 100 for v in values]


def changer(how, seed):
    chance = random.Random(seed)
    gone = {"no-pipes": PIPES, "no-gpm": PROFILING, "no-gpm+pcie": PROFILING - {"pcie_rx", "pcie_tx"},
            "other-card": PROFILING - {"pcie_rx", "pcie_tx"}, "other-card-blind": PROFILING,
            "amd": PROFILING, "intel": PROFILING | {"mem_copy_util"}}.get(how, set())

    def change(name, unit, values):
        if name in gone:
            return "0"
        value = mean(values) if unit in MEANS and name not in EXACT else values[-1]
        if how == "noise" and unit in MEANS | {"W", "Hz", "B"} and name not in EXACT and not isinstance(value, str):
            value = round(value * (1 + chance.uniform(-NOISE, NOISE)))
        return value
    return change


def perturb(how, source, out, seed=1):
    shutil.copy(source, out)
    db = sqlite3.connect(out)
    db.execute("pragma journal_mode = off")
    db.execute("pragma synchronous = off")
    for view, in db.execute("select name from sqlite_master where type = 'view'").fetchall():
        db.execute(f"drop view {view}")
    # What no limiter looks at is left out: it takes most of the time.
    db.execute("delete from host_block where series in (select id from host_series where scope in ('core', 'level_gpu') or scope = 'level' and item > 0)")
    db.execute(f"delete from block where series not in (select id from series where name in ({', '.join('?' * len(LOOKED_AT))}))", sorted(LOOKED_AT))
    gpu = Table(db, "tick", "block", "entity", "series")
    host = Table(db, "host_tick", "host_block", "item", "host_series")
    move(db, "process_sample", gpu, groups_of(how, gpu))
    before = None
    if how == "no-gpm+pcie":
        before = lambda name, values, _, seconds: once_a_second(values, seconds) if name in ("pcie_rx", "pcie_tx") else values  # noqa: E731
    elif how.startswith("other-card"):
        card = Card(seed)
        before = lambda name, values, names, seconds: (once_a_second(values, seconds) if name in ("pcie_rx", "pcie_tx")  # noqa: E731
                                                       else card.change(name, values, names, seconds))
    gpu.rewrite(groups_of(how, gpu), changer(how, seed), before)
    if how == "no-host":
        for table in ("host_tick", "host_block", "host_gpu", "level_note", "process", "process_sample"):
            db.execute(f"delete from {table}")
    elif host.rows:
        move(db, "level_note", host, groups_of(how, host))
        host.rewrite(groups_of(how, host), changer(how, seed))
    if how in ("amd", "intel"):
        db.execute("update entity set model = 'a GPU of another maker'")
    db.commit()
    db.close()


def move(db, table, ticks, groups):
    """What is kept when it changes: it moves with the ticks, and what was cut off before the first holds from it."""
    new, at = [], 0
    for n, (a, b) in enumerate(groups):
        new += [n] * (b - at)
        at = b
    rows = db.execute(f"select * from {table} order by 1").fetchall()
    db.execute(f"delete from {table}")
    for tick, *rest in rows:
        if tick < len(new):
            db.execute(f"insert or replace into {table} values ({', '.join('?' * (len(rest) + 1))})", (new[tick], *rest))


if __name__ == "__main__":
    perturb(*sys.argv[1:4])
