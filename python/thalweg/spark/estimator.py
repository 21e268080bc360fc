"""Training on the rows of a DataFrame."""

import json
import pathlib
import tempfile
import uuid

from pyspark.ml.util import JavaMLReadable, JavaMLWritable
from pyspark.ml.wrapper import JavaEstimator
from pyspark.sql import SparkSession

import thalweg
from thalweg.spark import progress
from thalweg.spark.jar import java_class
from thalweg.spark.model import Model
from thalweg.spark.stage import reader, register, set_params

_JAVA_CLASS = "ThalwegEstimator"
# Models on their way to the driver's JVM; gone with this process.
_folder = tempfile.TemporaryDirectory(prefix="thalweg-estimators-")


@register(f"io.thalweg.spark.{_JAVA_CLASS}")
class Estimator(JavaEstimator, JavaMLReadable, JavaMLWritable):
    """Trains a model in the executors that Spark has, and gives a :class:`Model`.

    `model` is a thalweg.nn module with its `inputs`, a thalweg.Model or Graph, a PyTorch module with `example_inputs`, the
    path of an ONNX file, or "zoo:" and the name of a known model. `feature_cols` and `label_cols` name columns;
    `preprocessing` and `augmentation` are dicts for images. Whatever is not given keeps the engine's default; what has no
    keyword here is set as in a job file: `settings={"optimizer.momentum": 0.9}` (docs/spark.md).
    """

    def __init__(self, model=None, feature_cols=None, label_cols=None, inputs=None, example_inputs=None, settings=None,
                 preprocessing=None, augmentation=None, **params):
        super().__init__()
        self._java_obj = java_class(SparkSession.active(), _JAVA_CLASS)()
        self._resetUid(self._java_obj.uid())
        self._create_params_from_java()
        given = dict(params, input_cols=feature_cols, label_cols=label_cols,
                     preprocessing=_json(preprocessing), augmentation=_json(augmentation),
                     settings=settings and [f"{key}={_literal(value)}" for key, value in settings.items()])
        if model is not None:
            given["model"] = _source(model, inputs, example_inputs)
        set_params(self, {name: value for name, value in given.items() if value is not None})

    def _fit_java(self, dataset):
        with progress.shown(self._java_obj):
            return super()._fit_java(dataset)

    def _create_model(self, java_model):
        return Model(java_model)

    @classmethod
    def read(cls):
        return reader(cls, _JAVA_CLASS)


def _json(value):
    return value if value is None or isinstance(value, str) else json.dumps(value)


def _literal(value):
    """As in TOML."""
    return value if isinstance(value, str) else json.dumps(value)


def _source(model, inputs, example_inputs):
    """A path or a name that the estimator takes."""
    if isinstance(model, (str, pathlib.Path)):
        return str(model)
    if isinstance(model, thalweg.Graph) or isinstance(model, thalweg.nn.Module):
        model = thalweg.Model(model) if inputs is None else thalweg.Model(model, inputs)
    elif not isinstance(model, thalweg.Model):
        model = thalweg.from_torch(model, example_inputs)
    path = pathlib.Path(_folder.name) / f"{uuid.uuid4()}.safetensors"
    model.save_for_training(str(path))
    return path.as_uri()
