#!/usr/bin/env python3
"""Benchmark worker: trains one model with two processes, each with one thread, by PyTorch's DistributedDataParallel over
gloo. The line protocol is that of worker.py, spoken by the first process, which starts the second. Its ready line also has
"alone_ms": the fastest step of a process that trains its batch for itself while the other does so too.
"""

import ctypes
import os
import pathlib
import signal
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[1] / "tests" / "golden")]

import worker  # noqa: E402
from group_cases import GROUP_CASES  # noqa: E402
from group_peer import PATIENCE, PR_SET_PDEATHSIG  # noqa: E402

ALONE_STEPS = 6


class Worker:
    """One process's part."""

    def __init__(self, options, rank, store):
        import torch
        import torch.distributed as distributed

        self.torch, self.distributed = torch, distributed
        self.version = torch.__version__
        torch.set_flush_denormal(True)
        torch.set_num_threads(1)
        distributed.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=2, timeout=PATIENCE)
        self.alone_ms = self.measure_alone(options, rank)
        model = self.make_model(options)
        self.prepare(options, torch.nn.parallel.DistributedDataParallel(model), rank)

    def make_model(self, options):
        import deterministic
        import models

        case = GROUP_CASES[options.case]
        model = deterministic.initialise(models.MODELS[case["model"]](**case["config"])).train()
        if options.config == "channels_last":
            model = model.to(memory_format=self.torch.channels_last)
        return model

    def prepare(self, options, model, rank):
        import make_golden

        case = GROUP_CASES[options.case]
        inputs, self.target = make_golden.tensors(case, rank)
        if options.config == "channels_last":
            inputs = [x.contiguous(memory_format=self.torch.channels_last) for x in inputs]
        self.model, self.inputs = model, inputs
        self.optimizers = make_golden.optimizers(model, case["optimizer"], case["lr"])
        self.criterion = make_golden.loss_function(case["loss"], self.torch.float32)

    def measure_alone(self, options, rank):
        self.prepare(options, self.make_model(options), rank)
        self.distributed.barrier()
        fastest = float("inf")
        for step in range(ALONE_STEPS):
            start = time.perf_counter()
            self.step()
            if step >= 2:
                fastest = min(fastest, (time.perf_counter() - start) * 1e3)
        self.distributed.barrier()
        return fastest

    def announce(self, steps):
        """-> the first process's number of steps, in both."""
        count = self.torch.tensor([steps])
        self.distributed.broadcast(count, src=0)
        return int(count)

    def step(self):
        for optimizer in self.optimizers:
            optimizer.zero_grad(set_to_none=True)
        loss = self.criterion(self.model(*self.inputs), self.target)
        loss.backward()
        for optimizer in self.optimizers:
            optimizer.step()
        return loss.item()

    def loss(self, result):
        """The mean over both processes, which both must ask for."""
        total = self.torch.tensor([result])
        self.distributed.all_reduce(total)
        return float(total) / 2


def serve_second(options, store):
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    second = Worker(options, 1, store)
    while True:
        for _ in range(second.announce(0)):
            second.loss(second.step())


def make_runner(options):
    store = pathlib.Path(tempfile.mkdtemp()) / "store"
    if os.fork() == 0:
        try:
            serve_second(options, store)
        finally:
            os._exit(1)
    return Worker(options, 0, store)


def main():
    names = [name for name, case in GROUP_CASES.items() if case["worker"] == "ddp_peer.py"]
    options = worker.parser(__doc__, names, ("default", "channels_last")).parse_args()
    os.environ["OMP_NUM_THREADS"] = "1"  # read when torch loads
    return worker.serve(options, make_runner)


if __name__ == "__main__":
    sys.exit(main())
