#!/usr/bin/env python3
"""Benchmark worker: predictions of ResNet-50 for JPEGs in a DataFrame, by thalweg.spark.Model or by pyspark's predict_batch_udf
with ONNX Runtime or OpenVINO. The line protocol is that of worker.py."""

import os
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import spark_session  # noqa: E402
import worker  # noqa: E402
from infer_peer import EXPORT_SECONDS  # noqa: E402
from spark_cases import SPARK_CASES  # noqa: E402

MEAN, DEVIATION = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
PREPROCESSING = """{"transforms": [{"name": "resize_shorter", "shorter": 256}, {"name": "center_crop"}]}"""


def model_input(content):
    """What PREPROCESSING says, with OpenCV: resize to 256, crop 224, normalise."""
    import cv2
    import numpy

    image = cv2.imdecode(numpy.frombuffer(content, "u1"), cv2.IMREAD_COLOR)
    height, width = image.shape[:2]
    scale = 256 / min(height, width)
    image = cv2.resize(image, (round(width * scale), round(height * scale)), interpolation=cv2.INTER_AREA)
    top, left = (image.shape[0] - 224) // 2, (image.shape[1] - 224) // 2
    part = cv2.cvtColor(image[top:top + 224, left:left + 224], cv2.COLOR_BGR2RGB).astype("float32")
    part *= (1 / 255 / numpy.array(DEVIATION)).astype("float32")
    part -= (numpy.array(MEAN) / DEVIATION).astype("float32")
    return part.transpose(2, 0, 1)


def onnxruntime_predictor(path):
    import onnxruntime

    settings = onnxruntime.SessionOptions()
    settings.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(path, settings, providers=["CPUExecutionProvider"])
    return lambda batch: session.run(None, {"input": batch})[0]


def openvino_predictor(path):
    import openvino

    settings = {"PERFORMANCE_HINT": "LATENCY", "INFERENCE_NUM_THREADS": 1, "INFERENCE_PRECISION_HINT": "f32"}
    request = openvino.Core().compile_model(path, "CPU", settings).create_infer_request()
    return lambda batch: request.infer({0: batch})[0]


def udf_predictions(frame, config, path, batch):
    """The column of predictions by a function that runs in the Python workers of the executors."""
    from pyspark.ml.functions import predict_batch_udf
    from pyspark.sql.types import ArrayType, FloatType

    def make_predictor():
        import sys

        import cv2
        import numpy

        sys.path.insert(0, str(HERE))
        import spark_peer

        cv2.setNumThreads(1)
        start = {"onnxruntime": spark_peer.onnxruntime_predictor, "openvino": spark_peer.openvino_predictor}[config]
        predict = start(path)
        return lambda contents: predict(numpy.stack([spark_peer.model_input(content) for content in contents]))

    udf = predict_batch_udf(make_predictor, return_type=ArrayType(FloatType()), batch_size=batch)
    return frame.withColumn("scores", udf("content"))


class Runner:
    def __init__(self, options):
        case = SPARK_CASES[options.case]
        self.folder = tempfile.TemporaryDirectory()
        self.model = os.path.join(self.folder.name, "model.onnx")
        subprocess.run([sys.executable, str(HERE / "infer_peer.py"), "--export-to", self.folder.name, "--case", case["model"]],
                       check=True, timeout=EXPORT_SECONDS, stdout=sys.stderr)
        self.spark = spark_session.start(options.threads, self.folder.name)
        frame = self.photos(case["images"], options.threads)
        self.predictions = self.predict(frame, options.config, case["batch"])
        self.images = case["images"]

    def photos(self, count, partitions):
        """The bytes of the first files, in the memory of the executors."""
        files = list(map(str, spark_session.photos(count)))
        frame = self.spark.read.format("binaryFile").load(files).select("content").repartition(partitions).cache()
        frame.count()
        return frame

    def predict(self, frame, config, batch):
        from pyspark import __version__

        self.version = f"{config} on pyspark {__version__}"
        if config != "thalweg":
            return udf_predictions(frame, config, self.model, batch)
        import thalweg.spark

        return thalweg.spark.Model.load(self.model, input_cols=["content"], output_cols=["scores"],
                                        preprocessing=PREPROCESSING).transform(frame)

    def step(self):
        total = "sum(aggregate(scores, 0D, (sum, x) -> sum + abs(x)))"
        return self.predictions.selectExpr(total).first()[0]

    def loss(self, total):
        return total / self.images / 1000


if __name__ == "__main__":
    arguments = worker.parser(__doc__, spark_session.cases_of(__file__), ("onnxruntime", "openvino", "thalweg"))
    sys.exit(worker.serve(arguments.parse_args(), Runner))
