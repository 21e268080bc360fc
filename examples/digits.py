"""A convolutional network learns handwritten digits, is saved as ONNX, and is tried in faster forms.

    python examples/digits.py --data ~/.cache/thalweg/mnist
"""

import argparse
import os
import sys

import numpy

import thalweg
from thalweg import nn

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--data", default=os.path.expanduser("~/.cache/thalweg/mnist"), help="folder of the MNIST files")
parser.add_argument("--limit", type=int, help="train on so many digits")
parser.add_argument("--epochs", type=int, default=2)
parser.add_argument("--workers", type=int, default=1, help="processes that train together")
arguments = parser.parse_args()
if not os.path.isdir(arguments.data):
    print(f"{arguments.data} is missing: run scripts/setup-data", file=sys.stderr)
    sys.exit(77)


class Digits(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 16, 3, padding=1)
        self.conv2 = nn.Conv2d(16, 32, 3, padding=1)
        self.norm = nn.BatchNorm2d(32)
        self.pool = nn.MaxPool2d(2)
        self.head = nn.Linear(32 * 7 * 7, 10)

    def forward(self, x):
        x = self.pool(self.conv1(x).relu())
        x = self.pool(self.norm(self.conv2(x)).relu())
        return self.head(x.flatten(1))


train, test = thalweg.data.read_mnist(arguments.data)
if arguments.limit:
    train = thalweg.data.Subset(train, list(range(arguments.limit)))
estimator = thalweg.Estimator(
    Digits(), metrics=["accuracy"], epochs=arguments.epochs, batch_size=64, workers=arguments.workers
)
estimator.fit(train, validation=test)
print(estimator.model_.summary())
accuracy = estimator.score(test)
print(f"{accuracy:.1%} of the test digits are right")

(images,), (labels,) = test.fetch(list(range(256)))
fast = thalweg.optimize(estimator, calibration=[images[:64], images[64:128]], seconds=0.2, output="digits.onnx")
right = (fast(images).argmax(axis=1) == labels).mean()
print(f"{fast.report.chosen.form}: {right:.1%} of {len(labels)} are right")
assert numpy.isfinite(fast(images)).all()
sys.exit(0 if accuracy > 0.9 and right > 0.9 else 1)
