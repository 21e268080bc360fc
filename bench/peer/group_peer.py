#!/usr/bin/env python3
"""Benchmark worker: an all-reduce between two processes with gloo, as torch.distributed offers it. The line protocol is
that of worker.py, spoken by the first process, which starts the second."""

import ctypes
import datetime
import os
import pathlib
import signal
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import worker  # noqa: E402
from group_cases import GROUP_CASES  # noqa: E402

PR_SET_PDEATHSIG = 1
# While Thalweg is measured this worker is stopped, for as long as that takes.
PATIENCE = datetime.timedelta(hours=12)


class AllReduce:
    """One process's part."""

    def __init__(self, case, rank, store):
        import torch
        import torch.distributed as distributed

        self.torch, self.distributed = torch, distributed
        self.version = torch.__version__
        torch.set_num_threads(1)
        distributed.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=2, timeout=PATIENCE)
        count = int(case.split("_")[1].removesuffix("mb")) * 1000000 // 4
        self.source = (torch.arange(count) % 1000).float() * 0.5 * (rank + 1)
        self.data = self.source.clone()

    def announce(self, steps):
        """-> the first process's number of steps, in both."""
        count = self.torch.tensor([steps])
        self.distributed.broadcast(count, src=0)
        return int(count)

    def reset(self):
        self.data.copy_(self.source)

    def step(self):
        self.distributed.all_reduce(self.data)

    def loss(self, _):
        return float(self.data.double().abs().mean())


def enter_space(name):
    """The network name space that is the other end of the wire."""
    with open(f"/run/netns/{name}", "rb") as space:
        if ctypes.CDLL(None, use_errno=True).setns(space.fileno(), 0) != 0:
            raise OSError(ctypes.get_errno(), f"cannot enter the network name space {name}")


def serve_second(case, store):
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if "THALWEG_BENCH_SECOND_SPACE" in os.environ:
        enter_space(os.environ["THALWEG_BENCH_SECOND_SPACE"])
    second = AllReduce(case, 1, store)
    while True:
        for _ in range(second.announce(0)):
            second.reset()
            second.step()


def make_runner(options):
    store = pathlib.Path(tempfile.mkdtemp()) / "store"
    if os.fork() == 0:
        try:
            serve_second(options.case, store)
        finally:
            os._exit(1)
    return AllReduce(options.case, 0, store)


def main():
    options = worker.parser(__doc__, GROUP_CASES, ("gloo",)).parse_args()
    return worker.serve(options, make_runner)


if __name__ == "__main__":
    sys.exit(main())
