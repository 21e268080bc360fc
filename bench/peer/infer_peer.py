#!/usr/bin/env python3
"""Benchmark worker: runs one case forward with ONNX Runtime or OpenVINO. bench/run.py drives it and Thalweg's worker alike.

The model is the zoo's in PyTorch, in evaluation mode, exported to ONNX by a process of its own, so that this one holds only
what it measures. The line protocol is that of worker.py; the loss of a step is the cross entropy of its outputs with the
case's labels, computed outside the time.
"""

import os
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[1] / "tests" / "golden")]

import worker  # noqa: E402
from cases import CASES, INFER_CONFIGS  # noqa: E402

EXPORT_SECONDS = 600
CALIBRATION_BATCHES = 4


def export(case_name, folder):
    """Writes model.onnx and the batch (input.npy, label.npy) into `folder`."""
    import numpy
    import torch

    import deterministic
    import make_golden
    import models

    case = CASES[case_name]
    model = deterministic.initialise(models.MODELS[case["model"]](**case["config"])).eval()
    inputs, target = make_golden.tensors(case, 0)
    torch.onnx.export(model, tuple(inputs), os.path.join(folder, "model.onnx"), input_names=["input"],
                      output_names=["output"], opset_version=17, dynamo=False)
    for k in range(CALIBRATION_BATCHES if case["precision"] == "int8" else 0):
        numpy.save(os.path.join(folder, f"calibration_{k}.npy"), make_golden.tensors(case, k)[0][0].numpy())
    numpy.save(os.path.join(folder, "input.npy"), inputs[0].numpy())
    numpy.save(os.path.join(folder, "label.npy"), target.numpy())


def calibration(folder):
    import numpy

    return [numpy.load(os.path.join(folder, f"calibration_{k}.npy")) for k in range(CALIBRATION_BATCHES)]


def quantize_for_onnxruntime(folder):
    """ONNX Runtime's own quantisation, as it advises for x86 with VNNI: QDQ, u8 by i8, weights by channel."""
    from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static
    from onnxruntime.quantization.shape_inference import quant_pre_process

    class Reader(CalibrationDataReader):
        def __init__(self):
            self.batches = iter([{"input": batch} for batch in calibration(folder)])

        def get_next(self):
            return next(self.batches, None)

    prepared, path = os.path.join(folder, "prepared.onnx"), os.path.join(folder, "int8.onnx")
    quant_pre_process(os.path.join(folder, "model.onnx"), prepared)
    quantize_static(prepared, path, Reader(), quant_format=QuantFormat.QDQ, per_channel=True,
                    activation_type=QuantType.QUInt8, weight_type=QuantType.QInt8)


def quantize_for_openvino(folder):
    """Intel's quantisation for OpenVINO."""
    import nncf
    import openvino

    model = openvino.Core().read_model(os.path.join(folder, "model.onnx"))
    batches = calibration(folder)
    quantized = nncf.quantize(model, nncf.Dataset(batches), subset_size=len(batches))
    openvino.save_model(quantized, os.path.join(folder, "int8.xml"), compress_to_fp16=False)


class Runner:
    """step() -> the outputs as an array."""

    def __init__(self, options):
        import numpy

        self.numpy = numpy
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([sys.executable, __file__, "--export-to", folder, "--case", options.case, "--config", options.config],
                           check=True, timeout=EXPORT_SECONDS, stdout=sys.stderr)
            self.input = numpy.load(os.path.join(folder, "input.npy"))
            self.label = numpy.load(os.path.join(folder, "label.npy"))
            start = {"onnxruntime": self.start_onnxruntime, "openvino": self.start_openvino}[options.config]
            self.precision = CASES[options.case]["precision"]
            name = "model.onnx"
            if self.precision == "int8":
                name = "int8.onnx" if options.config == "onnxruntime" else "int8.xml"
            start(os.path.join(folder, name), options.threads)

    def start_onnxruntime(self, path, threads):
        import onnxruntime

        settings = onnxruntime.SessionOptions()
        settings.intra_op_num_threads = threads
        session = onnxruntime.InferenceSession(path, settings, providers=["CPUExecutionProvider"])
        self.version = f"onnxruntime {onnxruntime.__version__}"
        self.step = lambda: session.run(None, {"input": self.input})[0]

    def start_openvino(self, path, threads):
        import openvino

        core = openvino.Core()
        settings = {"PERFORMANCE_HINT": "LATENCY", "INFERENCE_NUM_THREADS": threads,
                    "INFERENCE_PRECISION_HINT": "bf16" if self.precision == "bf16" else "f32"}
        request = core.compile_model(path, "CPU", settings).create_infer_request()
        self.version = f"openvino {openvino.__version__}"
        self.step = lambda: request.infer({0: self.input}, share_inputs=True, share_outputs=True)[0]

    def loss(self, outputs):
        x = outputs.astype(self.numpy.float64)
        x = x - x.max(axis=1, keepdims=True)
        log_sum = self.numpy.log(self.numpy.exp(x).sum(axis=1))
        return float((log_sum - x[self.numpy.arange(len(x)), self.label]).mean())


def main():
    names = [name for name, case in CASES.items() if case["worker"] == "infer_peer.py"]
    parser = worker.parser(__doc__, names, INFER_CONFIGS)
    parser.add_argument("--export-to", help="only write the model and its batch into this folder")
    options = parser.parse_args()
    if options.export_to:
        export(options.case, options.export_to)
        if CASES[options.case]["precision"] == "int8":
            quantize = {"onnxruntime": quantize_for_onnxruntime, "openvino": quantize_for_openvino}[options.config]
            quantize(options.export_to)
        return 0
    os.environ["OMP_NUM_THREADS"] = str(options.threads)  # read when the libraries load
    return worker.serve(options, Runner)


if __name__ == "__main__":
    sys.exit(main())
