"""Many exporters in one process: plain, slow, dead, hostile. Also: python3 endpoints.py COUNT [BAD], which prints their addresses."""
import asyncio
import itertools
import sys
import threading

VALUES = [("DCGM_FI_DEV_SM_CLOCK", 1980), ("DCGM_FI_DEV_MEM_CLOCK", 2619), ("DCGM_FI_DEV_GPU_TEMP", 55), ("DCGM_FI_DEV_MEMORY_TEMP", 60),
          ("DCGM_FI_DEV_POWER_USAGE", 420.5), ("DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", 9e11), ("DCGM_FI_DEV_PCIE_REPLAY_COUNTER", 0),
          ("DCGM_FI_DEV_GPU_UTIL", 97), ("DCGM_FI_DEV_MEM_COPY_UTIL", 33), ("DCGM_FI_DEV_ENC_UTIL", 0), ("DCGM_FI_DEV_DEC_UTIL", 0),
          ("DCGM_FI_DEV_XID_ERRORS", 0), ("DCGM_FI_DEV_FB_FREE", 40000), ("DCGM_FI_DEV_FB_USED", 41000), ("DCGM_FI_DEV_FB_RESERVED", 500),
          ("DCGM_FI_PROF_GR_ENGINE_ACTIVE", 0.97), ("DCGM_FI_PROF_SM_ACTIVE", 0.81), ("DCGM_FI_PROF_SM_OCCUPANCY", 0.4),
          ("DCGM_FI_PROF_PIPE_TENSOR_ACTIVE", 0.61), ("DCGM_FI_PROF_DRAM_ACTIVE", 0.35), ("DCGM_FI_PROF_PIPE_FP64_ACTIVE", 0),
          ("DCGM_FI_PROF_PIPE_FP32_ACTIVE", 0.1), ("DCGM_FI_PROF_PIPE_FP16_ACTIVE", 0), ("DCGM_FI_PROF_PCIE_TX_BYTES", 3e9),
          ("DCGM_FI_PROF_PCIE_RX_BYTES", 1e9), ("DCGM_FI_DEV_NVLINK_BANDWIDTH_TOTAL", 100)]


def text(host, number, busy=0.5):
    """What dcgm-exporter says of one GPU, with its comments."""
    hostname = f',Hostname="{host}"' if host else ""
    labels = (f'gpu="0",UUID="GPU-00000000-0000-0000-0000-{number:012d}",pci_bus_id="00000000:18:00.0",device="nvidia0",'
              f'modelName="NVIDIA H100 80GB HBM3"{hostname},DCGM_FI_DRIVER_VERSION="550.54.15"')
    out = []
    for name, value in VALUES:
        value = busy if name == "DCGM_FI_PROF_SM_ACTIVE" else value
        out.append(f"# HELP {name} A figure of the GPU, in the words of its exporter.\n# TYPE {name} gauge\n{name}{{{labels}}} {value}\n")
    return "".join(out)


def answer(body, status="200 OK"):
    body = body.encode() if isinstance(body, str) else body
    return f"HTTP/1.1 {status}\r\nContent-Type: text/plain; version=0.0.4\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body


class Exporter(asyncio.Protocol):
    def __init__(self, behave):
        self.behave, self.rest = behave, b""

    def connection_made(self, transport):
        self.transport = transport

    def data_received(self, data):
        self.rest += data
        while b"\r\n\r\n" in self.rest:
            self.rest = self.rest.partition(b"\r\n\r\n")[2]
            self.behave(self.transport)


class Endpoints:
    """behaviours: callables that get a transport at each request. They run on a thread of their own."""

    def __init__(self, behaviours):
        self.loop = asyncio.new_event_loop()
        self.ports, self.servers, ready = [], [], threading.Event()

        async def start():
            for behave in behaviours:
                server = await self.loop.create_server(lambda b=behave: Exporter(b), "127.0.0.1", 0)
                self.servers.append(server)
                self.ports.append(server.sockets[0].getsockname()[1])
            ready.set()

        self.loop.create_task(start())
        self.thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self.thread.start()
        ready.wait()

    @property
    def list(self):
        return ",".join(f"http://127.0.0.1:{port}/metrics" for port in self.ports)

    def stop(self):
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join()


def well(host, number):
    """A GPU whose value changes with each scrape."""
    answers = itertools.cycle([answer(text(host, number, busy)) for busy in (0.5, 0.6, 0.7)])
    return lambda transport: transport.write(next(answers))


def main(count, bad=0):
    """Half of the bad ones accept and are silent, the others are not there."""
    endpoints = Endpoints([well(f"node{i:04d}", i) for i in range(count)] + [lambda transport: None] * bad)
    for server in endpoints.servers[count + bad // 2:]:
        server.close()
    print("\n".join(f"127.0.0.1:{port}" for port in endpoints.ports), flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
