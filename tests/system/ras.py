"""A server that speaks as NCCL's service (RAS) does, and one that is broken in many ways."""
import json
import socket
import threading

HEAD = "NCCL version 2.27.5 compiled with CUDA 12.9\nCUDA runtime version 12090, driver version 12090\n\nJob summary\n===========\n\n"
TABLE = ("\nCommunicators... (0.00s)\n=============\n\nGroup     Comms     Nodes     Ranks     Ranks     Ranks    Status  Errors\n"
         "    #  in group  per comm  per node  per comm  in group\n    0         1         1         4         4         4   RUNNING  MISMATCH\n")


def text(behind=(), missing=(), dead=(), error=(), most=42):
    """As VERBOSE STATUS writes it; ranks are (rank, pid)."""
    out = HEAD + TABLE + "\nErrors\n======\n\n"
    if dead:
        out += "DEAD\n  1 job process is considered dead (unreachable via the RAS network)\n"
        out += "".join(f"  Process {pid} on node 127.0.0.1 managing GPU {rank}\n" for rank, pid in dead) + "\n"
    if missing:
        out += "#0-0 (5a3fe1a2b3c4d5e6) INCOMPLETE\n  Missing communicator data from 1 rank\n"
        out += "".join(f"  Rank {rank} -- GPU {rank} managed by process {pid} on node 127.0.0.1\n" for rank, pid in missing) + "\n"
    if error:
        out += "#0-0 (5a3fe1a2b3c4d5e6) ERROR\n  Asynchronous error on 1 rank\n"
        out += "".join(f"  Rank {rank} reported Remote process error -- GPU {rank} managed by process {pid} on node 127.0.0.1\n" for rank, pid in error) + "\n"
    out += "Warnings\n========\n\n"
    if behind:
        out += "#0-0 (5a3fe1a2b3c4d5e6) MISMATCH\n  Communicator ranks have different AllReduce operation counts\n"
        out += f"  3 ranks have launched up to operation {most}\n"
        out += "".join(f"  Rank {rank} has launched up to operation {most - 1} -- GPU {rank} managed by process {pid} on node 127.0.0.1\n" for rank, pid in behind) + "\n"
    return out


def structured(ranks, behind=(), missing=(), dead=(), error=(), most=42):
    """As NCCL 2.28.7 writes it; ranks: pid by rank."""
    def status(rank):
        return {"init_state": 0, "async_error": 6 if rank in error else 0, "finalize_called": False, "destroy_flag": False, "abort_flag": False}

    there = [{"rank": r, "host": "127.0.0.1", "pid": p, "cuda_dev": r, "nvml_dev": r, "status": status(r),
              "collective_counts": {"Broadcast": 1, "AllReduce": most - (r in behind)}} for r, p in ranks.items() if r not in (*missing, *dead)]
    gone = [{"rank": r, "host": "127.0.0.1", "pid": ranks[r], "cuda_dev": r, "nvml_dev": r, "status": {"unresponsive": True, "considered_dead": r in dead}} for r in (*missing, *dead)]
    return json.dumps({"nccl_version": "2.28.7", "cuda_runtime_version": 12090, "cuda_driver_version": 12090, "timestamp": "2026-01-01 00:00:00", "communicators_count": 1,
                       "communicators": [{"hash": "0x5a3fe1a2b3c4d5e6", "secondary_hash": "0x1:0x2", "size": len(ranks), "ranks_count": len(there), "missing_ranks_count": len(gone),
                                          "ranks": there, "missing_ranks": gone}], "ras": {"collection_time_sec": 0.1, "timeouts_count": 0}})


class Server:
    """Answers each connection with talk(connection, line by line)."""

    def __init__(self, talk):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self.listener.getsockname()[1]}"
        self.talk = talk
        threading.Thread(target=self.run, daemon=True).start()

    def run(self):
        while True:
            try:
                conn, _ = self.listener.accept()
            except OSError:
                return
            try:
                self.talk(conn)
            except OSError:
                pass
            conn.close()

    def close(self):
        self.listener.close()


def lines(conn):
    data = b""
    while True:
        got = conn.recv(4096)
        if not got:
            return
        data += got
        while b"\n" in data:
            line, data = data.split(b"\n", 1)
            yield line.decode()


def speaks(answers, knows_json, before=b"", protocol=2):
    """As NCCL: what it does not know it says, and goes on."""

    def talk(conn):
        as_json = False
        for line in lines(conn):
            if line.lower().startswith("client protocol "):
                conn.sendall(f"SERVER PROTOCOL {protocol}\n".encode())
            elif line.lower().startswith("timeout "):
                conn.sendall(b"OK\n")
            elif line.lower() == "set format json" and knows_json:
                as_json = True
                conn.sendall(b"OK\n")
            elif line.lower() == "verbose status":
                conn.sendall(before + answers["json" if as_json else "text"].encode())
                return
            else:
                conn.sendall(f"ERROR: Unknown command {line}\n".encode())

    return talk
