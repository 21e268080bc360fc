#!/usr/bin/env python3
"""Benchmark worker: calls a model of one layer over and over, with ONNX Runtime or with the Python package thalweg, which
PYTHONPATH leads to. The line protocol is that of worker.py."""

import pathlib
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import worker  # noqa: E402
from python_cases import PYTHON_CASES  # noqa: E402

CALLS = 1000


def write_model(path):
    import numpy
    from onnx import TensorProto, helper, numpy_helper, save

    weight = (numpy.arange(8 * 16, dtype="float32") % 7 / 7).reshape(8, 16)
    graph = helper.make_graph(
        [helper.make_node("Gemm", ["input", "weight", "bias"], ["output"], transB=1)], "linear",
        [helper.make_tensor_value_info("input", TensorProto.FLOAT, ["N", 16])],
        [helper.make_tensor_value_info("output", TensorProto.FLOAT, ["N", 8])],
        [numpy_helper.from_array(weight, "weight"), numpy_helper.from_array(weight[:, 0].copy(), "bias")])
    save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)


class Runner:
    def __init__(self, options):
        import numpy

        self.input = numpy.linspace(0, 1, 16, dtype="float32").reshape(1, 16)
        with tempfile.TemporaryDirectory() as folder:
            path = str(pathlib.Path(folder) / "linear.onnx")
            write_model(path)
            {"onnxruntime": self.start_onnxruntime, "thalweg": self.start_thalweg}[options.config](path)

    def start_onnxruntime(self, path):
        import onnxruntime

        settings = onnxruntime.SessionOptions()
        settings.intra_op_num_threads = 1
        session = onnxruntime.InferenceSession(path, settings, providers=["CPUExecutionProvider"])
        self.version = f"onnxruntime {onnxruntime.__version__}"
        run, names = session.run, ["output"]
        self.call = lambda x: run(names, {"input": x})[0]

    def start_thalweg(self, path):
        import thalweg

        self.version = f"thalweg {thalweg.__version__}"
        model = thalweg.Model.load(path, threads=1)
        self.call = lambda x: model(x)

    def step(self):
        call, x = self.call, self.input
        for _ in range(CALLS - 1):
            call(x)
        return call(x)

    def loss(self, outputs):
        return float(outputs.sum())


if __name__ == "__main__":
    arguments = worker.parser(__doc__, list(PYTHON_CASES), ("onnxruntime", "thalweg"))
    sys.exit(worker.serve(arguments.parse_args(), Runner))
