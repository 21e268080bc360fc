"""A PyTorch network is trained by Thalweg, goes back to PyTorch, and then runs in int8.

    python examples/torch_to_int8.py --data ~/.cache/thalweg/mnist

Needs PyTorch (pip install torch).
"""

import argparse
import os
import sys

import numpy

import thalweg

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--data", default=os.path.expanduser("~/.cache/thalweg/mnist"), help="folder of the MNIST files")
parser.add_argument("--limit", type=int, default=60000, help="train on so many digits")
parser.add_argument("--seconds", type=float, default=1.0, help="for which each form is timed")
arguments = parser.parse_args()
try:
    import torch
except ModuleNotFoundError:
    print("this example needs PyTorch: pip install torch", file=sys.stderr)
    sys.exit(77)
if not os.path.isdir(arguments.data):
    print(f"{arguments.data} is missing: run scripts/setup-data", file=sys.stderr)
    sys.exit(77)

torch.manual_seed(0)
module = torch.nn.Sequential(
    torch.nn.Conv2d(1, 32, 3, padding=1), torch.nn.BatchNorm2d(32), torch.nn.ReLU(), torch.nn.MaxPool2d(2),
    torch.nn.Conv2d(32, 64, 3, padding=1), torch.nn.BatchNorm2d(64), torch.nn.ReLU(), torch.nn.MaxPool2d(2),
    torch.nn.Flatten(), torch.nn.Dropout(0.2), torch.nn.Linear(64 * 7 * 7, 10),
)  # fmt: skip

# The module becomes a model, which trains; its weights go back under the same names.
train, test = thalweg.data.read_mnist(arguments.data)
few = thalweg.data.Subset(train, list(range(arguments.limit)))
model = thalweg.from_torch(module, torch.zeros(1, 1, 28, 28))
estimator = thalweg.Estimator(model, metrics=["accuracy"], batch_size=64).fit(few, validation=test)
thalweg.load_into_torch(model, module)

(images,), (labels,) = test.fetch(list(range(1000)))
with torch.no_grad():
    answers = module.eval()(torch.from_numpy(images)).numpy()
right = (answers.argmax(1) == labels).mean()
print(f"PyTorch with the trained weights: {right:.1%} right, as Thalweg's {(model(images).argmax(1) == labels).mean():.1%}")
assert numpy.abs(answers - model(images)).max() < 1e-3

# The same module in int8: ranges from some training images, agreement checked against f32.
(samples,), _ = train.fetch(list(range(256)))
fast = thalweg.optimize(module, precision=["f32", "int8"], calibration=[samples[:128], samples[128:]],
                        seconds=arguments.seconds, output="digits_int8.onnx")  # fmt: skip
share = (fast(images).argmax(1) == labels).mean()
print(f"{fast.report.chosen.form}: {share:.1%} right, written to digits_int8.onnx")

# In its place in a PyTorch program: tensors in and out.
quick = thalweg.accelerate(module)
assert torch.allclose(quick(torch.from_numpy(images)), torch.from_numpy(answers), atol=1e-3)
sys.exit(0 if right > 0.9 and share > right - 0.02 else 1)
