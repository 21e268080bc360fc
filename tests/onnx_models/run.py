#!/usr/bin/env python3
"""Compares Thalweg with ONNX Runtime on whole models, both ways.

From PyTorch: each model of torch_models.py, written by each exporter of torch.onnx, must give ONNX Runtime's answers
through Thalweg's C interface, for several sizes of the free dimensions. The errors with the bf16 option and in int8
(calibrated on the same inputs, with all layers quantised) are stated, the latter with the agreement that `optimize`
reports.

To ONNX Runtime: the models that write_models.cc saves must give there what Thalweg predicted.

An error is the largest difference over all elements of an output, divided by its largest element.
"""

import argparse
import os
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "onnx_suite")]
TOLERANCE = 1e-4
STEP_SECONDS = 900


def relative_error(actual, expected):
    import numpy as np
    if actual.shape != expected.shape or actual.dtype != expected.dtype:
        raise ValueError(f"{actual.dtype}{list(actual.shape)} instead of {expected.dtype}{list(expected.shape)}")
    if actual.size == 0:
        return 0.0
    if not np.isfinite(expected).all():
        raise ValueError("the expected output is not finite")
    actual, expected = actual.astype(np.float64), expected.astype(np.float64)
    return float(np.abs(actual - expected).max() / max(np.abs(expected).max(), 1e-30))


def onnxruntime_session(path):
    import onnxruntime
    return onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])


def worst_error(run, batches, answers):
    return max(relative_error(actual, expected) for batch, answer in zip(batches, answers)
               for actual, expected in zip(run(batch), answer, strict=True))


def stated_error(model, batches, answers):
    try:
        return worst_error(model.run, batches, answers)
    except ValueError:  # a detector may find other things
        return float("inf")


def export(name, exporter, folder):
    """Writes the model and its batches; in a process of its own, so that PyTorch's threads do not stay."""
    import logging
    import warnings

    import numpy as np
    warnings.simplefilter("ignore")  # the exporters' advice to their own developers
    logging.disable(logging.WARNING)
    import torch_models
    example = torch_models.make(name)
    torch_models.export(example, exporter, str(folder / "model.onnx"))
    for i, batch in enumerate(example.batches):
        np.savez(folder / f"batch{i}.npz", *[tensor.numpy() for tensor in batch])


def check_exported(library, name, exporter):
    """The errors in f32, with the bf16 option and in int8, by name."""
    import numpy as np
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        subprocess.run([sys.executable, __file__, "--export", name, exporter, temporary], check=True,
                       timeout=STEP_SECONDS, stdout=subprocess.DEVNULL)
        batches = [list(np.load(path).values()) for path in sorted(folder.glob("batch*.npz"))]
        session = onnxruntime_session(folder / "model.onnx")
        names = [info.name for info in session.get_inputs()]
        answers = [session.run(None, dict(zip(names, batch, strict=True))) for batch in batches]
        del session
        f32, bf16 = (library.open(folder / "model.onnx", precision) for precision in ("f32", "bf16"))
        found = library.quantize(folder / "model.onnx", folder / "int8.onnx", batches)
        int8 = library.open(folder / "int8.onnx")
        label = f"int8 ({found['quantised_layers']} layers, agreement {100 * found['agreement']:.1f}%)"
        return [("f32", worst_error(f32.run, batches, answers)), ("bf16", stated_error(bf16, batches, answers)),
                (label, stated_error(int8, batches, answers))]


def check_written(folder, name):
    """The error of ONNX Runtime with a model that Thalweg wrote, by name."""
    from safetensors.numpy import load_file
    session = onnxruntime_session(folder / f"{name}.onnx")
    tensors = load_file(folder / f"{name}.safetensors")
    inputs = {info.name: tensors["input." + info.name] for info in session.get_inputs()}
    outputs = [tensors["output." + info.name] for info in session.get_outputs()]
    return [("f32", worst_error(lambda batch: session.run(None, batch), [inputs], [outputs]))]


def report(what, function):
    """Runs a check and prints a line; False if it failed or its first error is too large."""
    try:
        errors = function()
    except Exception as error:  # whatever goes wrong, the other models are still worth seeing
        print(f"{what:42} failed: {error}", flush=True)
        return False
    texts = [f"{name} " + (f"{error:.1e}" if error < float("inf") else "other shapes") for name, error in errors]
    print(f"{what:42} " + "  ".join(texts), flush=True)
    return errors[0][1] <= TOLERANCE


def check_all(options):
    import torch_models
    from thalweg_c import Library
    library, good = Library(options.library), True
    chosen = lambda name: not options.parts or any(part in name for part in options.parts)  # noqa: E731
    for name in filter(chosen, torch_models.MODELS):
        for exporter in torch_models.exporters_of(name):
            good &= report(f"{name} by torch.onnx ({exporter})", lambda: check_exported(library, name, exporter))
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        subprocess.run([options.writer, temporary], check=True, timeout=STEP_SECONDS)
        for path in sorted(folder.glob("*.onnx")):
            if chosen(path.stem):
                good &= report(f"{path.stem} by Thalweg", lambda: check_written(folder, path.stem))
    return good


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--library", help="path of libthalweg.so")
    parser.add_argument("--writer", help="path of the program made from write_models.cc")
    parser.add_argument("--export", nargs=3, help=argparse.SUPPRESS)
    parser.add_argument("parts", nargs="*", help="check only models whose names contain one of these")
    options = parser.parse_args()
    os.environ["THALWEG_BF16"] = "emulate"  # its error is to be stated on every CPU
    if options.export:
        export(options.export[0], options.export[1], pathlib.Path(options.export[2]))
        return 0
    return 0 if check_all(options) else 1


if __name__ == "__main__":
    sys.exit(main())
