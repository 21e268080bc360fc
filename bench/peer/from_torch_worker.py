#!/usr/bin/env python3
"""Benchmark worker: Thalweg trains the PyTorch module of a case, which thalweg.from_torch converts, with a Trainer from Python.
PYTHONPATH leads to the package. The line protocol is that of worker.py; a loss is the one before its step's update."""

import os
import pathlib
import sys
import threading

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[1] / "tests" / "golden")]

import worker  # noqa: E402
from cases import CASES  # noqa: E402

MOMENTUM = 0.9  # of make_golden.optimizers
MANY_EPOCHS = 10**9
SECONDS_FOR_A_STEP = 600


class Runner:
    """`fit` runs on a thread of its own and takes a step whenever it is asked for one."""

    def __init__(self, options):
        import deterministic
        import make_golden
        import models
        import thalweg

        case = CASES[options.case]
        self.version = f"thalweg {thalweg.__version__}"
        self.wanted, self.done = threading.Semaphore(0), threading.Semaphore(0)
        self.last_loss, self.failure = None, None
        inputs, target = make_golden.tensors(case, 0)
        module = deterministic.initialise(models.MODELS[case["model"]](**case["config"]))
        model = thalweg.from_torch(module, tuple(inputs))
        samples = thalweg.data.TensorDataset([x.numpy() for x in inputs], [target.numpy()])
        self.trainer = thalweg.Trainer(
            model, case["loss"], thalweg.optim.sgd(case["lr"], momentum=MOMENTUM), epochs=MANY_EPOCHS,
            batch_size=len(target), shuffle=False, threads=options.threads, progress="none",
            callbacks=[self.watch(thalweg.Callback)])
        threading.Thread(target=self.train, args=(samples,), daemon=True).start()

    def watch(self, callback):
        runner = self

        class Watch(callback):
            def on_start(self, state):
                runner.wanted.acquire()

            def on_step(self, state):
                runner.last_loss = state.loss
                runner.done.release()
                runner.wanted.acquire()

        return Watch()

    def train(self, samples):
        try:
            self.trainer.fit(samples)
        except Exception as error:  # noqa: BLE001: step() raises it
            self.failure = error
            self.done.release()

    def step(self):
        self.wanted.release()
        if not self.done.acquire(timeout=SECONDS_FOR_A_STEP):
            raise TimeoutError(f"no step within {SECONDS_FOR_A_STEP} s")
        if self.failure is not None:
            raise self.failure
        return self.last_loss

    @staticmethod
    def loss(result):
        return result


def main():
    names = [name for name, case in CASES.items() if case.get("ours") == pathlib.Path(__file__).name]
    options = worker.parser(__doc__, names, ("thalweg",)).parse_args()
    status = worker.serve(options, Runner)
    sys.stdout.flush()
    # Training goes on waiting for its next step: leave it.
    os._exit(status)


if __name__ == "__main__":
    main()
