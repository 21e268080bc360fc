#!/usr/bin/env python3
"""Worker of bench/wide.py: one network in one engine. Its first line says how long importing the engine, loading the file and
the first call took; the protocol is that of bench/peer/worker.py."""

import argparse
import os
import pathlib
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE / "peer")]

import worker  # noqa: E402
from wide_networks import NETWORKS, input_sets  # noqa: E402

STEP_SECONDS = 0.003  # what one step of the protocol takes at least, in calls of the network
COMPARED = 64  # so many arrays of the answers at least are compared, all if there are no more


def load_onnxruntime(path, options):
    import onnxruntime

    settings = onnxruntime.SessionOptions()
    settings.intra_op_num_threads = options.threads
    settings.log_severity_level = 3
    session = onnxruntime.InferenceSession(path, settings, providers=["CPUExecutionProvider"])
    return f"onnxruntime {onnxruntime.__version__}", lambda inputs: session.run(None, dict(inputs))


def load_openvino(path, options):
    import openvino

    settings = {"PERFORMANCE_HINT": "LATENCY", "INFERENCE_NUM_THREADS": options.threads,
                "INFERENCE_PRECISION_HINT": options.precision}
    request = openvino.Core().compile_model(path, "CPU", settings).create_infer_request()

    def call(inputs):
        results = request.infer({i: array for i, (_, array) in enumerate(inputs)}, share_inputs=True, share_outputs=True)
        return [results[i] for i in range(len(results))]

    return f"openvino {openvino.__version__}", call


def load_thalweg(path, options):
    import thalweg

    precision = {} if options.precision == "f32" else {"precision": options.precision}
    model = thalweg.Model.load(path, threads=options.threads, **precision)

    def call(inputs):
        results = model(*[array for _, array in inputs])
        return list(results) if isinstance(results, (list, tuple)) else [results]

    return f"thalweg {thalweg.__version__}", call


class Runner:
    def __init__(self, options):
        import numpy

        sets = input_sets(options.case, options.batch)
        path = str(pathlib.Path(options.nets) / NETWORKS[options.case][0])
        start = time.perf_counter()
        self.version, call = {"onnxruntime": load_onnxruntime, "openvino": load_openvino,
                              "thalweg": load_thalweg}[options.config](path, options)
        results = [numpy.array(array) for inputs in sets for array in call(inputs)]
        self.first_ms = (time.perf_counter() - start) * 1e3
        numpy.savez(options.outputs, *results[:: max(1, len(results) // COMPARED)])
        self.call, self.sets, self.steps_in_one = call, sets, 1  # the protocol reads the last
        if len(sets) > 1:
            return
        for _ in range(3):
            self.step()
        start = time.perf_counter()
        self.step()
        self.steps_in_one = max(1, round(STEP_SECONDS / (time.perf_counter() - start)))

    def step(self):
        for _ in range(self.steps_in_one):
            for inputs in self.sets:
                self.call(inputs)

    def loss(self, _):
        return self.first_ms  # answers are compared by the driver


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--case", required=True, choices=NETWORKS)
    parser.add_argument("--config", required=True, choices=("thalweg", "onnxruntime", "openvino"))
    parser.add_argument("--nets", required=True, help="the folder of the files")
    parser.add_argument("--outputs", required=True, help="where the first answer goes (.npz)")
    parser.add_argument("--batch", type=int, default=1)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--precision", default="f32", choices=("f32", "bf16"))
    parser.add_argument("--steps-warmup", type=int, default=1)
    options = parser.parse_args()
    os.environ["OMP_NUM_THREADS"] = str(options.threads)  # read when the libraries load
    return worker.serve(options, Runner)


if __name__ == "__main__":
    sys.exit(main())
