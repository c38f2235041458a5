"""What this machine's NVML answers without profiling counters, and what it costs: `python3 nvml_processes.py [SECONDS]`, beside a load.

Prints a line a call: the return code, what came, microseconds of each of ten calls. nvmlDeviceGetProcessesUtilizationInfo is what is asked where
nvmlDeviceGetProcessUtilization is not there.
"""
import ctypes
import sys
import time

SPAN = 10  # calls of each


class Sample(ctypes.Structure):
    _fields_ = [("pid", ctypes.c_uint), ("time", ctypes.c_ulonglong)] + [(n, ctypes.c_uint) for n in ("sm", "mem", "enc", "dec")]


class Info(ctypes.Structure):
    _fields_ = [("time", ctypes.c_ulonglong)] + [(n, ctypes.c_uint) for n in ("pid", "sm", "mem", "enc", "dec", "jpg", "ofa")]


class Infos(ctypes.Structure):
    _fields_ = [("version", ctypes.c_uint), ("n", ctypes.c_uint), ("since", ctypes.c_ulonglong), ("list", ctypes.POINTER(Info))]


class Rates(ctypes.Structure):
    _fields_ = [("gpu", ctypes.c_uint), ("memory", ctypes.c_uint)]


def main():
    nvml = ctypes.CDLL("libnvidia-ml.so.1")
    assert nvml.nvmlInit_v2() == 0
    gpu = ctypes.c_void_p()
    assert nvml.nvmlDeviceGetHandleByIndex_v2(0, ctypes.byref(gpu)) == 0
    number, rates = ctypes.c_uint(), Rates()

    def one_number(name, *kind):
        rc = getattr(nvml, name)(gpu, *kind, ctypes.byref(number))
        return rc, number.value

    def utilization():
        rc = nvml.nvmlDeviceGetUtilizationRates(gpu, ctypes.byref(rates))
        return rc, (rates.gpu, rates.memory)

    def samples():
        n, list_of = ctypes.c_uint(64), (Sample * 64)()
        rc = nvml.nvmlDeviceGetProcessUtilization(gpu, list_of, ctypes.byref(n), ctypes.c_ulonglong(0))
        return rc, [(s.pid, s.sm, s.mem) for s in list_of[:n.value if rc == 0 else 0]]

    def infos(version=0x01000018, room=64):
        list_of = (Info * 64)()
        ask = Infos(version, room, 0, list_of if room else None)
        rc = nvml.nvmlDeviceGetProcessesUtilizationInfo(gpu, ctypes.byref(ask))
        return rc, ask.n, [(s.pid, s.sm, s.mem) for s in list_of[:min(ask.n, 64) if rc == 0 else 0]]

    calls = {
        "utilization": utilization,
        "power": lambda: one_number("nvmlDeviceGetPowerUsage"),
        "SM clock": lambda: one_number("nvmlDeviceGetClockInfo", 1),
        "PCIe out": lambda: one_number("nvmlDeviceGetPcieThroughput", 0),
        "PCIe in": lambda: one_number("nvmlDeviceGetPcieThroughput", 1),
        "process utilization": samples,
        "processes' utilization": infos,
        "the same, how many": lambda: infos(room=0),
        "the same, an unknown version": lambda: infos(version=0x09000018),
    }
    time.sleep(float(sys.argv[1]) if len(sys.argv) > 1 else 0)
    for name, call in calls.items():
        took = []
        try:
            for _ in range(SPAN):
                began = time.perf_counter()
                answer = call()
                took.append(round((time.perf_counter() - began) * 1e6))
                time.sleep(0.05)
        except AttributeError:
            answer = "the library does not have it"
        print(f"{name}: {answer}; {sorted(took)} us", flush=True)


if __name__ == "__main__":
    main()
