#!/usr/bin/env python3
"""Benchmark worker: trains one case with PyTorch. bench/run.py drives it and Thalweg's worker alike.

The line protocol is that of worker.py; a loss is the one before its step's update.
A step is: clear gradients, forward, loss, backward, optimiser, read the loss.
"""

import contextlib
import os
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[1] / "tests" / "golden")]

import worker  # noqa: E402  (standard library only: arguments are checked before torch loads)
from cases import CASES, IMAGE_CONFIGS  # noqa: E402


class Trainer:
    def __init__(self, options):
        import torch
        import deterministic
        import make_golden
        import models

        # Off by default, but a gradient that fades over 500 time steps ends in denormal numbers, which cost the LSTM case
        # six times its time: it would be the CPU's traps that are compared. Before any other thread starts: they inherit it.
        torch.set_flush_denormal(True)
        torch.set_num_threads(options.threads)
        case = CASES[options.case]
        self.version = torch.__version__
        model = deterministic.initialise(models.MODELS[case["model"]](**case["config"])).train()
        inputs, target = make_golden.tensors(case, 0)
        if options.config.endswith("channels_last"):
            model = model.to(memory_format=torch.channels_last)
            inputs = [x.contiguous(memory_format=torch.channels_last) for x in inputs]
        extra = {"fused": True} if options.fused_optimizer else {}
        self.optimizers = make_golden.optimizers(model, case["optimizer"], case["lr"], **extra)
        criterion = make_golden.loss_function(case["loss"], torch.float32)

        def forward():
            with torch.autocast("cpu", torch.bfloat16) if case["bf16"] else contextlib.nullcontext():
                output = model(*inputs)
            return criterion(output.float(), target)

        # The loss is compiled along: the compiler then fuses it into the last layer's backward.
        self.forward = torch.compile(forward) if options.config.startswith("compile") else forward

    def step(self):
        for optimizer in self.optimizers:
            optimizer.zero_grad(set_to_none=True)
        loss = self.forward()
        loss.backward()
        for optimizer in self.optimizers:
            optimizer.step()
        return loss.item()

    @staticmethod
    def loss(result):
        return result


def main():
    names = [name for name, case in CASES.items() if case["worker"] == "torch_peer.py"]
    parser = worker.parser(__doc__, names, IMAGE_CONFIGS)
    parser.add_argument("--fused-optimizer", action="store_true", help="PyTorch's fused SGD/Adam kernels, off by default there")
    options = parser.parse_args()
    # Read when torch loads. One compile thread: else the compiler keeps a pool of processes beside the one that is measured.
    os.environ["OMP_NUM_THREADS"] = str(options.threads)
    os.environ["TORCHINDUCTOR_COMPILE_THREADS"] = "1"
    return worker.serve(options, Trainer)


if __name__ == "__main__":
    sys.exit(main())
