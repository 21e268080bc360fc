#!/usr/bin/env python3
"""Benchmark worker: trains one case with PyTorch. bench/run.py drives it and Thalweg's worker alike.

Line protocol, one JSON object a line on stdout (whatever libraries print goes to stderr):
  start       -> {"ready": true, "case": ..., "config": ..., "threads": ..., "version": ..., "losses": [of the warm-up steps]}
  "run N"     -> {"ms": [of each step], "losses": [before each step's update], "peak_mb": VmHWM in MiB}
  "quit", EOF -> exit 0
  a failure   -> {"error": "..."}, exit 1
A step is: clear gradients, forward, loss, backward, optimiser, read the loss.
"""

import argparse
import contextlib
import json
import os
import pathlib
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[1] / "tests" / "golden")]

from cases import CASES, IMAGE_CONFIGS  # noqa: E402  (standard library only: arguments are checked before torch loads)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--case", required=True, choices=CASES)
    parser.add_argument("--config", default="default", choices=IMAGE_CONFIGS)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--steps-warmup", type=int, default=0, help="steps to run before saying ready")
    parser.add_argument("--fused-optimizer", action="store_true", help="PyTorch's fused SGD/Adam kernels, off by default there")
    return parser.parse_args()


def protocol_stream():
    """The real stdout, for the protocol only; file descriptor 1 becomes stderr."""
    stream = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    return stream


def peak_mb():
    for line in pathlib.Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return round(int(line.split()[1]) / 1024, 1)
    raise RuntimeError("no VmHWM in /proc/self/status")


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
        self.torch, self.bf16 = torch, case["bf16"]
        model = deterministic.initialise(models.MODELS[case["model"]](**case["config"])).train()
        inputs, target = make_golden.tensors(case, 0)
        if options.config.endswith("channels_last"):
            model = model.to(memory_format=torch.channels_last)
            inputs = [x.contiguous(memory_format=torch.channels_last) for x in inputs]
        extra = {"fused": True} if options.fused_optimizer else {}
        self.optimizers = make_golden.optimizers(model, case["optimizer"], case["lr"], **extra)
        criterion = make_golden.loss_function(case["loss"], torch.float32)

        def forward():
            with torch.autocast("cpu", torch.bfloat16) if self.bf16 else contextlib.nullcontext():
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

    def run(self, steps):
        ms, losses = [], []
        for _ in range(steps):
            start = time.perf_counter()
            losses.append(self.step())
            ms.append(round((time.perf_counter() - start) * 1e3, 3))
        return {"ms": ms, "losses": losses, "peak_mb": peak_mb()}


def main():
    options = arguments()
    # Read when torch loads. One compile thread: else the compiler keeps a pool of processes beside the one that is measured.
    os.environ["OMP_NUM_THREADS"] = str(options.threads)
    os.environ["TORCHINDUCTOR_COMPILE_THREADS"] = "1"
    stream = protocol_stream()

    def say(message):
        stream.write(json.dumps(message) + "\n")
        stream.flush()

    try:
        trainer = Trainer(options)
        warmup = trainer.run(options.steps_warmup)
        say({"ready": True, "case": options.case, "config": options.config, "threads": options.threads,
             "version": trainer.torch.__version__, "losses": warmup["losses"]})
        for line in sys.stdin:
            words = line.split()
            if words == ["quit"]:
                break
            if len(words) != 2 or words[0] != "run" or not words[1].isdigit():
                raise ValueError(f"expected 'run N' or 'quit', got {line!r}")
            say(trainer.run(int(words[1])))
    except Exception as error:  # the driver reports it and goes on to the next configuration
        say({"error": f"{type(error).__name__}: {error}"})
        raise
    return 0


if __name__ == "__main__":
    sys.exit(main())
