"""An ONNX model as a stage of Spark ML."""

import json

from pyspark.ml.util import JavaMLReadable, JavaMLWritable
from pyspark.ml.wrapper import JavaModel
from pyspark.sql import SparkSession

from thalweg.spark.jar import java_class
from thalweg.spark.stage import reader, register, set_params

_JAVA_CLASS = "ThalwegModel"


@register(f"io.thalweg.spark.{_JAVA_CLASS}")
class Model(JavaModel, JavaMLReadable, JavaMLWritable):
    """Adds a model's answers to a DataFrame, which may be a stream.

    `explainParams()` lists the parameters, `set` and the keywords of `load` change them: `input_cols`, `output_cols`,
    `output_kinds` and others (docs/spark.md).
    """

    def __init__(self, java_model=None):
        super().__init__(java_model)
        if java_model is not None:
            self._transfer_params_from_java()

    @classmethod
    def load(cls, path, **params):
        """An ONNX file, or the folder that `save` wrote, on any file system that Spark knows."""
        if str(path).endswith(".onnx"):
            model = cls(java_class(SparkSession.active(), _JAVA_CLASS).fromFile(str(path)))
        else:
            model = cls.read().load(str(path))
        return set_params(model, params)

    @classmethod
    def read(cls):
        return reader(cls, _JAVA_CLASS)

    def configure(self, **params):
        """Sets parameters, and gives the model back."""
        return set_params(self, params)

    @property
    def training_report(self):
        """How the fit went: "workers", "steps", "epochs", "rows", "skipped_rows", "skipped_samples"; None of a file."""
        report = self._java_obj.trainingReport()
        return report and json.loads(report)

    @property
    def history(self):
        """A dict for each epoch of the fit that made this model, as ``pandas.DataFrame`` takes them; none if it was read."""
        report = self.training_report
        return report["epochs"] if report is not None else []

    def save_onnx(self, path):
        """The model alone, as an ONNX file, on any file system that Spark knows."""
        self._java_obj.saveOnnx(str(path))

    def evaluate(self, frame, label_cols=None, metrics=None, loss=None):
        """The figures of the model's first output against the labels, over the whole frame: {"accuracy": 0.98, ...}.

        Label columns and loss are those of the fit unless they are given; the metrics then are accuracy where labels are
        classes, and none otherwise.
        """
        gateway = frame.sparkSession.sparkContext._gateway
        self._transfer_params_to_java()

        def texts(values):
            if values is None:
                return None
            array = gateway.new_array(gateway.jvm.java.lang.String, len(values))
            for i, value in enumerate(values):
                array[i] = value
            return array

        return json.loads(self._java_obj.evaluate(frame._jdf, texts(label_cols), texts(metrics), loss))
