"""A small training program: train.py KIND RANK [FOLDER]. After some steps the rank does what KIND says; the lines at which
that is are marked."""
import ctypes
import fcntl
import gzip
import json
import mmap
import os
import queue
import random
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
import time

import toydist

FOLDER = sys.argv[3] if len(sys.argv) > 3 else "."
STEPS_BEFORE = 5
WORKS_S = 40  # how long a healthy pause lasts


# ---- hangs ----

def lock():
    mutex = threading.Lock()
    mutex.acquire()
    mutex.acquire()  # LINE lock


def lock_of_thread():
    mutex, ready = threading.Lock(), threading.Event()

    def keeper():
        with mutex:
            ready.set()
            queue.Queue().get()

    threading.Thread(target=keeper, daemon=True).start()
    ready.wait()
    with mutex:  # LINE lock_of_thread
        pass


def loop():
    n = 1
    while n:  # LINE loop
        n = n + 1 if n < 100 else 1  # LINE loop


def loop_of_calls():
    done = {}

    def is_ready():
        return "ready" in done

    while not is_ready():  # LINE loop_of_calls
        pass  # LINE loop_of_calls


def killed():
    os.kill(os.getpid(), signal.SIGKILL)


def ended():
    os._exit(1)


def stopped():
    os.kill(os.getpid(), signal.SIGSTOP)  # LINE stopped


def data():
    feeder = socket.create_server(("127.0.0.1", 0))
    batch = socket.create_connection(feeder.getsockname())
    batch.recv(4096)  # LINE data


def data_pipe():
    read, _write = os.pipe()
    os.read(read, 4096)  # LINE data_pipe


def data_queue():
    batches = queue.Queue()

    def load():
        feeder = socket.create_server(("127.0.0.1", 0))
        connection = socket.create_connection(feeder.getsockname())
        batches.put(connection.recv(1))  # LINE data_queue

    threading.Thread(target=load, daemon=True).start()
    batches.get()


def file_open():
    with open(os.path.join(FOLDER, "shard.fifo"), "rb") as shard:  # LINE file_open
        shard.read()


def file_dead():
    os.listdir(os.path.join(FOLDER, "dead"))  # LINE file_dead


def file_lock():
    fd = os.open(os.path.join(FOLDER, "lock"), os.O_RDWR | os.O_CREAT)
    fcntl.flock(fd, fcntl.LOCK_EX)  # LINE file_lock


def deadlock():
    a, b, met = threading.Lock(), threading.Lock(), threading.Barrier(2)

    def other():
        with b:
            met.wait()
            with a:  # LINE deadlock
                pass

    threading.Thread(target=other, daemon=True).start()
    with a:
        met.wait()
        with b:  # LINE deadlock
            pass


def deadlock_of_threads():
    a, b, met = threading.Lock(), threading.Lock(), threading.Barrier(2)

    def take(first, second):
        with first:
            met.wait()
            with second:  # LINE deadlock_of_threads
                pass

    threads = [threading.Thread(target=take, args=pair, daemon=True) for pair in ((a, b), (b, a))]
    for t in threads:
        t.start()
    threads[0].join()


def swapped():
    libc = ctypes.CDLL(None, use_errno=True)
    size = 24 << 20
    area = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    address = ctypes.addressof(ctypes.c_char.from_buffer(area))
    for at in range(0, size, 4096):
        area[at] = 1
    while True:
        libc.madvise(ctypes.c_void_p(address), ctypes.c_size_t(size), 21)  # MADV_PAGEOUT
        for _ in range(2000):
            area[random.randrange(size // 4096) * 4096]  # LINE swapped


def order(group):
    group.barrier()  # LINE order


# ---- healthy pauses ----

def until():
    end = time.monotonic() + WORKS_S
    while time.monotonic() < end:
        yield


def validate():
    for _ in until():
        values = [random.random() for _ in range(200_000)]
        sum(v * v for v in values)


def checkpoint():
    path = os.path.join(FOLDER, f"checkpoint-{os.getpid()}")
    for _ in until():
        with open(path, "wb") as f:
            f.write(os.urandom(1 << 20))
            os.fsync(f.fileno())
    os.unlink(path)


def compile_kernels():
    for _ in until():
        subprocess.run([sys.executable, "-c", "import json, ast\nfor _ in range(60): ast.parse(open(json.__file__).read())"], check=True)


def compile_long():
    subprocess.run([sys.executable, "-c", f"import time\nend = time.monotonic() + {WORKS_S}\nwhile time.monotonic() < end: sum(range(1000))"], check=True)


def read_data():
    path = os.path.join(FOLDER, f"data-{os.getpid()}")
    with open(path, "wb") as f:
        f.write(os.urandom(8 << 20))
    for _ in until():
        with open(path, "rb") as f:
            while f.read(65536):
                pass
    os.unlink(path)


def download():
    server = socket.create_server(("127.0.0.1", 0))

    def send():
        conn, _ = server.accept()
        for _ in until():
            conn.sendall(b"x" * 1000)
            time.sleep(0.05)
        conn.close()

    threading.Thread(target=send, daemon=True).start()
    conn = socket.create_connection(server.getsockname())
    while conn.recv(4096):
        pass


def pack():
    for _ in until():
        gzip.compress(os.urandom(1 << 20))


def parse():
    text = json.dumps({str(i): list(range(20)) for i in range(20000)})
    for _ in until():
        json.loads(text)


def tables():
    db = sqlite3.connect(os.path.join(FOLDER, f"db-{os.getpid()}"))
    db.execute("create table t (a, b)")
    for _ in until():
        db.executemany("insert into t values (?, ?)", [(i, str(i)) for i in range(2000)])
        db.commit()


def threads_load():
    results = queue.Queue()

    def load():
        for _ in until():
            json.loads(json.dumps([random.random() for _ in range(5000)]))
        results.put(1)

    threading.Thread(target=load, daemon=True).start()
    results.get()


def sleeps():
    time.sleep(WORKS_S)


def training():
    pass


def step(group, name, culprit):
    group.all_reduce()  # LINE others
    if name == "order" and culprit:
        order(group)
    elif culprit:
        globals()[name]()


def arrive():
    """Says that it is there."""
    with open(os.path.join(FOLDER, "there"), "w", encoding="ascii"):
        pass


def main():
    name, culprits = sys.argv[1], sys.argv[2].split(",")
    group = toydist.Group()
    if name == "together":
        arrive()
        group.all_reduce()  # LINE together
    for number in range(10 ** 9):
        json.loads(json.dumps(list(range(200))))
        time.sleep(0.01)
        if number == STEPS_BEFORE and name == "training":
            arrive()
        if number < STEPS_BEFORE or name == "training":
            group.all_reduce()  # LINE before
            continue
        culprit = culprits == ["all"] or os.environ["RANK"] in culprits
        if culprit and number == STEPS_BEFORE:
            arrive()
        step(group, name, culprit)


main()
