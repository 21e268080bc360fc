"""A ResNet that knows some digits learns others from a few examples: its body stays as it is, only the last layer trains.

    python examples/transfer_learning.py --data ~/.cache/thalweg/mnist

With --weights resnet18.safetensors (names as in torchvision) the body comes from there, and nothing is trained before.
"""

import argparse
import os
import sys
import time

import numpy

import thalweg

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--data", default=os.path.expanduser("~/.cache/thalweg/mnist"), help="folder of the MNIST files")
parser.add_argument("--weights", help="a ResNet-18 to begin with, in place of one that learns digits here")
parser.add_argument("--width", type=int, default=4, help="divides the channels of the ResNet; 1 for its usual size")
parser.add_argument("--limit", type=int, default=20000, help="digits of the first task")
parser.add_argument("--few", type=int, default=5, help="examples of each new digit")
arguments = parser.parse_args()
if not os.path.isdir(arguments.data):
    print(f"{arguments.data} is missing: run scripts/setup-data", file=sys.stderr)
    sys.exit(77)

KNOWN, NEW = range(0, 6), range(6, 10)


def digits(dataset, classes, count):
    """The first `count` images of each of these digits, in three colours, with classes counted from 0."""
    (images,), (labels,) = dataset.fetch(list(range(len(dataset))))
    chosen = numpy.concatenate([numpy.flatnonzero(labels == digit)[:count] for digit in classes])
    return numpy.repeat(images[chosen], 3, axis=1), labels[chosen] - classes.start


def resnet(classes):
    return thalweg.Model(thalweg.zoo.build("resnet18", classes=len(classes), width=arguments.width, image_size=28))


def trained(model, images, labels, epochs, learning_rate):
    began = time.monotonic()
    estimator = thalweg.Estimator(
        model, metrics=["accuracy"], epochs=epochs, batch_size=32, learning_rate=learning_rate, progress="none"
    )
    estimator.fit(images, labels)
    return estimator, time.monotonic() - began


train, test = thalweg.data.read_mnist(arguments.data)
model = resnet(NEW)
if arguments.weights:
    model.load_weights(arguments.weights, strict=False)
else:
    source = resnet(KNOWN)
    first, seconds = trained(source, *digits(train, KNOWN, arguments.limit // len(KNOWN)), 1, 0.003)
    print(f"{first.score(*digits(test, KNOWN, 200)):.1%} of the first digits are right after {seconds:.0f} s")
    body = {name: weight for name, weight in source.state_dict().items() if not name.startswith("fc.")}
    model.load_state_dict(body, strict=False)

model.freeze("*")
model.unfreeze("fc.*")
print("trained:", ", ".join(value.name for value in model.graph.parameters if value.trainable))
before = model.weight("layer1.0.conv1.weight")

few, many = digits(train, NEW, arguments.few), digits(test, NEW, 200)
transferred, seconds = trained(model, *few, 40, 0.01)
scratch, scratch_seconds = trained(resnet(NEW), *few, 40, 0.01)
assert numpy.array_equal(model.weight("layer1.0.conv1.weight"), before)
share, scratch_share = transferred.score(*many), scratch.score(*many)
print(f"new digits from {arguments.few} examples each:")
print(f"  with the frozen body {share:.1%} right, trained in {seconds:.1f} s")
print(f"  from scratch         {scratch_share:.1%} right, trained in {scratch_seconds:.1f} s")
# Twice as good as guessing one of four digits, and better than without what was learned before.
sys.exit(0 if share > 0.5 and share > scratch_share else 1)
