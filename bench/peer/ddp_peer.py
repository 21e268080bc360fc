#!/usr/bin/env python3
"""Benchmark worker: trains one model with two processes, each with one thread, by PyTorch's DistributedDataParallel over
gloo. The line protocol is that of worker.py, spoken by the first process, which starts the second. Steps alone are those
in which each process trains its batch for itself, both at the same time.
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

ALONE_WARMUP = 2


class Job:
    """A model, its batch and what trains it."""

    def __init__(self, options, rank, wrap):
        import deterministic
        import make_golden
        import models
        import torch

        case = GROUP_CASES[options.case]
        model = deterministic.initialise(models.MODELS[case["model"]](**case["config"])).train()
        self.inputs, self.target = make_golden.tensors(case, rank)
        if options.config == "channels_last":
            model = model.to(memory_format=torch.channels_last)
            self.inputs = [x.contiguous(memory_format=torch.channels_last) for x in self.inputs]
        self.model = wrap(model)
        self.optimizers = make_golden.optimizers(self.model, case["optimizer"], case["lr"])
        self.criterion = make_golden.loss_function(case["loss"], torch.float32)

    def step(self):
        for optimizer in self.optimizers:
            optimizer.zero_grad(set_to_none=True)
        loss = self.criterion(self.model(*self.inputs), self.target)
        loss.backward()
        for optimizer in self.optimizers:
            optimizer.step()
        return loss.item()


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
        self.options, self.rank, self.alone = options, rank, None
        self.together = Job(options, rank, torch.nn.parallel.DistributedDataParallel)

    def announce(self, steps, pairs=False):
        """-> what the first process says, in both."""
        order = self.torch.tensor([steps, pairs])
        self.distributed.broadcast(order, src=0)
        return int(order[0]), bool(order[1])

    def step(self):
        return self.together.step()

    def run_pairs(self, count):
        self.announce(count, True)
        return self.serve_pairs(count)

    def serve_pairs(self, count):
        """-> milliseconds of the steps of either kind, which take turns"""
        if self.alone is None:
            self.alone = Job(self.options, self.rank, lambda model: model)
            for _ in range(ALONE_WARMUP):
                self.alone.step()
        pairs = [(self.timed(self.together), self.timed(self.alone)) for _ in range(count)]
        return {"together_ms": [pair[0] for pair in pairs], "alone_ms": [pair[1] for pair in pairs]}

    def timed(self, job):
        """-> milliseconds from when both processes are ready until both have done the step"""
        self.distributed.barrier()
        start = time.perf_counter()
        job.step()
        self.distributed.barrier()
        return (time.perf_counter() - start) * 1e3

    def loss(self, result):
        """The mean over both processes, which both must ask for."""
        total = self.torch.tensor([result])
        self.distributed.all_reduce(total)
        return float(total) / 2


def serve_second(options, store):
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    second = Worker(options, 1, store)
    while True:
        steps, pairs = second.announce(0)
        if pairs:
            second.serve_pairs(steps)
            continue
        for _ in range(steps):
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
