"""A model server that plays: requests arrive, wait, are prefilled, generate in a batch, and end; its cache fills. Beside it
a GPU whose counters follow from what each step does. Time is the server's own, in steps of the engine."""
import collections
import dataclasses
import random


@dataclasses.dataclass
class Load:
    """What is asked of the server, and what it is made of. Times in seconds, cache in tokens."""
    arrivals: float = 5.0  # requests a second
    prompt: int = 500
    output: int = 200
    max_running: int = 256
    cache: int = 400_000
    weights: float = 0.006  # to read all weights once
    per_sequence: float = 4e-6  # to read what one request has cached, for each 100 tokens
    prefill: float = 20_000  # tokens a second at full tensor cores
    chunk: int = 2048  # tokens of prompts in a step
    launch: float = 0.001  # to launch the kernels of a step; below the step's time it is hidden
    front: float = 1e9  # tokens a second that the front end takes
    step_gap: float = 0.0  # that the GPU rests after each step
    loading: float = 0.0  # bytes a second that are read while the server starts
    network: float = 0.0  # likewise from the network
    counters: bool = True  # whether the GPU has profiling counters
    share: float = 0.0  # of a prompt's token that a generated one costs the tensor cores
    reuse: float = 0.0  # of the prompts, what is in the cache already
    gaps: bool = False  # whether the GPU is seen to rest between kernels that are launched one by one
    child: bool = False  # whether the front end that is slow is a process of its own
    capped: bool = False  # whether the power limit holds the clocks
    tensor_top: float = 0.78  # what the counter reaches when the tensor cores are the limit
    dram_top: float = 0.88
    gpus: int = 1
    card: str = "NVIDIA H200"
    power: float = 600.0  # of a GPU that works hard
    dialect: str = "vllm"


@dataclasses.dataclass
class Request:
    prompt: int
    output: int
    begun: float
    done: int = 0  # of the prompt
    made: int = 0
    first: float = 0.0


TTFT = (0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 10.0)
ITL = (0.002, 0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.2, 0.5, 1.0)


class Histogram:
    def __init__(self, edges):
        self.edges, self.counts, self.sum, self.n = edges, [0] * len(edges), 0.0, 0

    def add(self, v, n=1):
        self.sum += v * n
        self.n += n
        for i, edge in enumerate(self.edges):
            if v <= edge:
                self.counts[i] += n


@dataclasses.dataclass
class Work:
    """What the GPU did over a while: seconds, weighted sums of its counters."""
    t: float = 0.0
    busy: float = 0.0
    sm: float = 0.0
    tensor: float = 0.0
    dram: float = 0.0


class Server:
    def __init__(self, load, seed=1):
        self.load, self.random, self.now = load, random.Random(seed), 0.0
        self.waiting, self.running = collections.deque(), []
        self.next_arrival = 0.0
        self.prompts = self.outputs = self.finished = self.preempted = 0
        self.reused = self.prompts_ended = self.outputs_ended = 0  # of prompts; of requests that ended
        self.time_ended = 0.0
        self.ttft, self.itl, self.queue = Histogram(TTFT), Histogram(ITL), Histogram(TTFT)
        self.cpu = 0.0  # seconds of the front end's thread
        self.cpu_worker = 0.0  # of the thread that launches kernels, and spins until they are done
        self.work = collections.deque()  # of the last steps
        self.credit = 0.0

    def cached(self):
        return sum(r.done + r.made for r in self.running)

    def arrive(self):
        while self.load.arrivals > 0 and self.next_arrival <= self.now:
            vary = self.random.uniform
            self.waiting.append(Request(max(1, int(self.load.prompt * vary(0.7, 1.3))), max(2, int(self.load.output * vary(0.7, 1.3))),
                                        self.next_arrival))
            self.next_arrival += self.random.expovariate(self.load.arrivals)

    def admit(self):
        used = self.cached()
        while self.waiting and len(self.running) < self.load.max_running:
            r = self.waiting[0]
            if used + r.prompt > self.load.cache:
                return
            used += r.prompt
            self.running.append(self.waiting.popleft())
            r.done = int(self.load.reuse * r.prompt)
            self.reused += r.done
            self.prompts += r.done
            self.queue.add(self.now - r.begun)

    def preempt(self):
        while self.running and self.cached() > self.load.cache:
            r = self.running.pop()
            r.done = r.made = 0
            self.waiting.appendleft(r)
            self.preempted += 1

    def step(self):
        """One step of the engine: a chunk of prompts, and a token for each that generates."""
        self.arrive()
        self.admit()
        if not self.running:
            rest = min(0.01, max(self.next_arrival - self.now, 1e-4)) if self.load.arrivals > 0 else 0.01
            return self.spend(rest, Work(rest))
        # The front end hands over what it has ready.
        room, prompts = min(self.load.chunk, max(1, int(0.05 * self.load.front))), 0
        for r in self.running:
            take = min(room - prompts, r.prompt - r.done)
            if take > 0:
                r.done += take
                prompts += take
        batch = [r for r in self.running if r.done >= r.prompt]
        dense = (prompts + self.load.share * len(batch)) / self.load.prefill
        read = self.load.weights + self.load.per_sequence * sum(r.done + r.made for r in batch) / 100
        gpu = max(dense, read)
        launches = self.load.launch if len(batch) or prompts else 0
        took = max(gpu, launches)
        tokens = prompts + len(batch)
        front = tokens / self.load.front
        whole = max(took, front) + self.load.step_gap
        # Kernels that are launched one by one run all the time, on few SMs.
        sm = 0.93 * min(1.0, gpu / took) if launches <= gpu else 0.9 * gpu / took
        tensor = self.load.tensor_top * dense / took + (0 if self.load.share else 0.0015 * len(batch) * min(1.0, gpu / took))
        busy = 0.5 * (gpu + took) if self.load.gaps else took
        self.spend(whole, Work(whole, busy, sm * took, min(0.95, tensor) * took, self.load.dram_top * min(1.0, read / took) * took))
        self.cpu += min(whole, front if front > took else front + 0.05 * whole)
        self.cpu_worker += 0.97 * took
        self.end(batch, prompts, whole)

    def end(self, batch, prompts, whole):
        self.prompts += prompts
        self.outputs += len(batch)
        for r in batch:
            r.made += 1
            if r.made == 1:
                r.first = self.now
                self.ttft.add(self.now - r.begun)
            else:
                self.itl.add(whole)
        for r in batch:
            if r.made >= r.output:
                self.finished += 1
                self.prompts_ended += r.prompt
                self.outputs_ended += r.made
                self.time_ended += self.now - r.first
        self.running = [r for r in self.running if r.made < r.output]
        self.preempt()

    def spend(self, seconds, work):
        self.now += seconds
        self.work.append((self.now, work))
        while self.work and self.work[0][0] < self.now - 1.0:
            self.work.popleft()

    def until(self, when):
        while self.now < when:
            self.step()

    def gpu(self):
        """Means of the last second."""
        total = sum(w.t for _, w in self.work) or 1.0
        return {k: sum(getattr(w, k) for _, w in self.work) / total for k in ("busy", "sm", "tensor", "dram")}
