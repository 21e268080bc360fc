"""Handwritten digits on a Spark cluster: pictures in a DataFrame, training in the executors, predictions over the cluster.

    spark-submit --jars thalweg-spark.jar examples/spark_digits.py

Without spark-submit it starts a cluster of two executors on this machine.
"""

import argparse
import os
import pathlib
import struct
import sys
import time
import zlib

import numpy
import pyarrow
from pyspark.sql import SparkSession

import thalweg
import thalweg.spark

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--data", default=os.path.expanduser("~/.cache/thalweg/mnist"), help="folder of the MNIST files")
parser.add_argument("--limit", type=int, help="train on so many digits")
parser.add_argument("--epochs", type=int, default=3)
parser.add_argument("--batch-size", type=int, default=64, help="of all workers together")
parser.add_argument("--model", default="model.onnx", help="where the trained model goes")
arguments = parser.parse_args()
if not os.path.isdir(arguments.data):
    print(f"{arguments.data} is missing: run scripts/setup-data", file=sys.stderr)
    sys.exit(77)

PREPROCESSING = {"transforms": [{"name": "resize", "height": 28, "width": 28}],
                 "output": {"mean": [0.1307], "deviation": [0.3081]}}


def png(pixels):
    """A grey picture as the bytes of a file."""
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    height, width = pixels.shape
    lines = b"".join(b"\0" + line.tobytes() for line in pixels)
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0))
            + chunk(b"IDAT", zlib.compress(lines, 1)) + chunk(b"IEND", b""))


def digits(spark, part, limit=None):
    images, labels = (numpy.fromfile(f"{arguments.data}/{part}-{name}-ubyte", "uint8")
                      for name in ("images-idx3", "labels-idx1"))
    pictures = images[16:].reshape(-1, 28, 28)[:limit]
    # A table of Arrow: Spark takes it without Python on the executors.
    table = pyarrow.table({"image": [png(picture) for picture in pictures],
                           "digit": labels[8:8 + len(pictures)].astype("int32")})
    return spark.createDataFrame(table).cache()


def session():
    builder = SparkSession.builder.appName("digits")
    if "SPARK_ENV_LOADED" not in os.environ:  # spark-submit has set everything else
        builder = (builder.master("local-cluster[2,1,2048]").config("spark.jars", thalweg.spark.jar())
                   .config("spark.executor.memory", "1536m").config("spark.ui.enabled", "false")
                   .config("spark.driver.host", "127.0.0.1").config("spark.driver.bindAddress", "127.0.0.1")
                   .config("spark.ui.showConsoleProgress", "false"))
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    return spark


spark = session()
train, test = digits(spark, "train", arguments.limit), digits(spark, "t10k")
counts = train.count(), test.count()
print(f"{counts[0]} digits to train on and {counts[1]} to test with, in {train.rdd.getNumPartitions()} partitions")

estimator = thalweg.spark.Estimator(
    "zoo:lenet", feature_cols=["image"], label_cols=["digit"], loss="cross_entropy", optimizer="adam",
    learning_rate=0.001, epochs=arguments.epochs, batch_size=arguments.batch_size, preprocessing=PREPROCESSING,
    class_names=[str(digit) for digit in range(10)], output_cols=["predicted"], output_kinds=["class"])
begin = time.monotonic()
model = estimator.fit(train)
fit_seconds = time.monotonic() - begin

begin = time.monotonic()
right = model.transform(test).where("predicted = digit").count()
predict_seconds = time.monotonic() - begin

model.save_onnx(pathlib.Path(arguments.model).absolute().as_uri())
spark.stop()

summary = [
    ("trained on", f"{counts[0]} digits, {arguments.epochs} epochs, in {fit_seconds:.1f} s"
                   f" ({counts[0] * arguments.epochs / fit_seconds:.0f} digits a second with everything)"),
    ("predicted", f"{counts[1]} digits in {predict_seconds:.1f} s"),
    ("accuracy", f"{right / counts[1]:.4f}"),
    ("model", f"{arguments.model} ({os.path.getsize(arguments.model) / 1e6:.2f} MB); any ONNX runtime reads it"),
]
for name, text in summary:
    print(f"{name:<12}{text}")
sys.exit(0 if right / counts[1] > 0.9 else "the network has not learned")
