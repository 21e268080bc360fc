#!/usr/bin/env python3
"""Benchmark worker: training in the executors of a Spark cluster by thalweg.spark.Estimator, and what that is compared with:
PyTorch's DistributedDataParallel by pyspark's TorchDistributor, or the same workers under `thalweg launch`. A step is a whole
fit. The line protocol is that of worker.py."""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
GOLDEN = HERE.parents[1] / "tests" / "golden"
sys.path[:0] = [str(HERE), str(GOLDEN)]

import spark_session  # noqa: E402
import worker  # noqa: E402
from spark_cases import SPARK_CASES  # noqa: E402

SIZE = 224
LAUNCH_SECONDS = 600


def lenet():
    import deterministic
    import models

    return deterministic.initialise(models.MODELS["lenet"]()).train()


def train_one_step(images, labels, folders):
    """In a process of TorchDistributor: one step of its share. -> the mean loss"""
    import sys

    sys.path[:0] = folders
    import spark_training_peer
    import torch
    import torch.distributed as distributed

    torch.set_num_threads(1)
    distributed.init_process_group("gloo")
    model = torch.nn.parallel.DistributedDataParallel(spark_training_peer.lenet())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.001)
    part = slice(distributed.get_rank(), None, distributed.get_world_size())
    loss = torch.nn.functional.cross_entropy(model(torch.from_numpy(images[part])), torch.from_numpy(labels[part]))
    loss.backward()
    optimizer.step()
    mean = loss.detach() / distributed.get_world_size()
    distributed.all_reduce(mean)
    distributed.destroy_process_group()
    return float(mean)


class Cluster:
    """A worker's session, and the version to report."""

    def __init__(self, options):
        from pyspark import __version__

        self.case = SPARK_CASES[options.case]
        self.config = options.config
        self.threads = options.threads
        self.version = f"{options.config} on pyspark {__version__}"
        self.folder = tempfile.TemporaryDirectory()
        self.spark = spark_session.start(options.threads, self.folder.name)
        self.prepare()

    def cached(self, rows, schema):
        frame = self.spark.createDataFrame(rows, schema).repartition(self.threads).cache()
        frame.count()
        return frame

    def loss(self, result):
        return result


class Start(Cluster):
    def prepare(self):
        import deterministic

        shape = (self.case["rows"], 1, 28, 28)
        self.images = deterministic.uniform("input.0", shape, 1.0).numpy()
        self.labels = deterministic.integers("label.0", shape[:1], 10).numpy()
        if self.config != "thalweg":
            return
        import thalweg.spark
        import torch

        rows = [(image.reshape(-1).tolist(), int(label)) for image, label in zip(self.images, self.labels)]
        self.frame = self.cached(rows, "image array<float>, label int")
        self.estimator = thalweg.spark.Estimator(
            lenet(), example_inputs=(torch.from_numpy(self.images),), feature_cols=["image"], label_cols=["label"],
            loss="cross_entropy", optimizer="sgd", learning_rate=0.001, epochs=1, batch_size=self.case["rows"],
            num_workers=self.threads, threads=1)

    def step(self):
        if self.config == "thalweg":
            return self.estimator.fit(self.frame).history[0]["loss"]
        from pyspark.ml.torch.distributor import TorchDistributor

        distributor = TorchDistributor(num_processes=self.threads, local_mode=False, use_gpu=False)
        return distributor.run(train_one_step, self.images, self.labels, [str(HERE), str(GOLDEN)])


class Iterations(Cluster):
    def prepare(self):
        import numpy
        import thalweg.spark

        count = self.case["rows"]
        images, labels = (numpy.fromfile(spark_session.DEPS / "mnist" / f"train-{name}-ubyte", "uint8")
                          for name in ("images-idx3", "labels-idx1"))
        images = images[16:].reshape(-1, 784)[:count] / numpy.float32(255)
        rows = [(image.tolist(), int(label)) for image, label in zip(images, labels[8:])]
        self.frame = self.cached(rows, "image array<float>, label int")
        self.steps_in_one = self.case["epochs"] * count // self.case["batch"]
        self.estimator = thalweg.spark.Estimator(
            "zoo:lenet", feature_cols=["image"], label_cols=["label"], loss="cross_entropy", optimizer="sgd",
            learning_rate=0.05, epochs=self.case["epochs"], batch_size=self.case["batch"], num_workers=self.threads, threads=1)

    def step(self):
        return self.estimator.fit(self.frame).history[-1]["loss"]


class Photos(Cluster):
    """Without a cluster for the other side."""

    def prepare(self):
        self.files = spark_session.photos(self.case["images"])
        self.names = sorted({path.parent.name for path in self.files})
        if self.config == "thalweg":
            self.prepare_estimator()
        else:
            self.spark.stop()
            self.prepare_job()

    def prepare_estimator(self):
        import thalweg.spark

        rows = [(bytearray(path.read_bytes()), self.names.index(path.parent.name)) for path in self.files]
        self.frame = self.cached(rows, "content binary, label int")
        self.estimator = thalweg.spark.Estimator(
            "zoo:resnet18", feature_cols=["content"], label_cols=["label"], loss="cross_entropy", optimizer="sgd",
            learning_rate=0.001, epochs=self.case["epochs"], batch_size=self.case["batch"], num_workers=self.threads, threads=1,
            preprocessing={"transforms": [{"name": "resize", "height": SIZE, "width": SIZE}]},
            settings={"model.classes": len(self.names)})

    def prepare_job(self):
        data = pathlib.Path(self.folder.name) / "photos"
        for path in self.files:
            (data / path.parent.name).mkdir(parents=True, exist_ok=True)
            shutil.copy(path, data / path.parent.name)
        job = pathlib.Path(self.folder.name) / "job.toml"
        job.write_text(f"""
[data]
kind = "images"
path = "{data}"
image_size = {SIZE}
augment = false
[model]
name = "resnet18"
classes = {len(self.names)}
[train]
epochs = {self.case["epochs"]}
batch_size = {self.case["batch"]}
learning_rate = 0.001
loss = "cross_entropy"
[optimizer]
name = "sgd"
[output]
model = "{self.folder.name}/trained.onnx"
""")
        program = str(pathlib.Path(os.environ["THALWEG_BENCH_BIN"]).with_name("thalweg"))
        self.command = [program, "launch", "-n", str(self.threads), "--", program, "train", "--json", str(job)]

    def step(self):
        if self.config == "thalweg":
            return self.estimator.fit(self.frame).history[-1]["loss"]
        done = subprocess.run(self.command, capture_output=True, text=True, timeout=LAUNCH_SECONDS)
        if done.returncode != 0:
            raise RuntimeError(f"thalweg launch ended with {done.returncode}: {done.stderr[-500:]}")
        report = [line.partition("] ")[2] for line in done.stdout.splitlines()]  # the worker's number stands in front
        return json.loads("\n".join(report))["epochs"][-1]["loss"]


RUNNERS = {"spark_start": Start, "spark_lenet_iters": Iterations, "spark_vs_launch": Photos}

if __name__ == "__main__":
    arguments = worker.parser(__doc__, list(RUNNERS), ("torch_distributor", "launch", "thalweg")).parse_args()
    sys.exit(worker.serve(arguments, RUNNERS[arguments.case]))
