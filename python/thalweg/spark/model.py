"""An ONNX model as a stage of Spark ML."""

import json
import os

from pyspark.ml.wrapper import JavaModel
from pyspark.sql import SparkSession

from thalweg.spark.arguments import named, text, texts
from thalweg.spark.errors import engine_errors
from thalweg.spark.interrupts import cancellable
from thalweg.spark.jar import java_class
from thalweg.spark.stage import Stage, register, set_params


@register("ThalwegModel")
class Model(Stage, JavaModel):
    """Adds a model's answers to a DataFrame, which may be a stream.

    `explainParams()` lists the parameters, `set` and the keywords of `load` change them: `input_cols`, `output_cols`,
    `output_kinds` and others (docs/spark.md).
    """

    def __init__(self, java_model=None):
        if isinstance(java_model, (str, os.PathLike)):
            raise TypeError(f'a model is read by thalweg.spark.Model.load("{java_model}")')
        super().__init__(java_model)
        if java_model is not None:
            self._transfer_params_from_java()

    @classmethod
    def load(cls, path, **params):
        """An ONNX file, or the folder that `save` wrote, on any file system that Spark knows."""
        if str(path).endswith(".onnx"):
            with engine_errors():
                model = cls(java_class(SparkSession.active(), cls._java_class).fromFile(str(path)))
        else:
            model = cls.read().load(path)
        return set_params(model, params)

    def _transform(self, dataset):
        with engine_errors():
            return super()._transform(dataset)

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
        with engine_errors():
            self._java_obj.saveOnnx(str(path))

    def evaluate(self, frame, label_cols=None, metrics=None, loss=None):
        """The figures of the model's first output against the labels, over the whole frame: {"accuracy": 0.98, ...}.

        Label columns and loss are those of the fit unless they are given; the metrics then are accuracy where labels are
        classes or one score was trained by bce or bce_with_logits, and none otherwise.
        """
        asked = [_java_texts(frame, named("label_cols", texts, label_cols)), _java_texts(frame, named("metrics", texts, metrics)),
                 named("loss", text, loss)]
        self._transfer_params_to_java()
        with engine_errors():
            return json.loads(cancellable(frame.sparkSession, lambda: self._java_obj.evaluate(frame._jdf, *asked)))


def _java_texts(frame, values):
    """An array of Java, or null."""
    gateway = frame.sparkSession.sparkContext._gateway
    return values if values is None else JavaModel._new_java_array(values, gateway.jvm.java.lang.String)
