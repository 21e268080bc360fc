"""Training on the rows of a DataFrame."""

import json
import pathlib
import sys
import tempfile
import uuid

from pyspark.ml.wrapper import JavaEstimator
from pyspark.sql import SparkSession

import thalweg
from thalweg.spark import progress
from thalweg.spark.arguments import plain
from thalweg.spark.errors import engine_errors
from thalweg.spark.features import features_json
from thalweg.spark.interrupts import cancellable
from thalweg.spark.jar import java_class
from thalweg.spark.model import Model
from thalweg.spark.stage import Stage, register, set_params

# Models on their way to the driver's JVM; gone with this process.
_folder = tempfile.TemporaryDirectory(prefix="thalweg-estimators-")


@register("ThalwegEstimator")
class Estimator(Stage, JavaEstimator):
    """Trains a model in the executors that Spark has, and gives a :class:`Model`.

    `model` is a thalweg.nn module with its `inputs`, a thalweg.Model or Graph, a PyTorch module with `example_inputs`, the
    path of an ONNX file, or "zoo:" and the name of a known model. `feature_cols` and `label_cols` name columns;
    `preprocessing` and `augmentation` are dicts for images; `features` (thalweg.data.Features, or a list of dicts) are fitted to
    the rows before training, and `feature_cols` then names columns after them. Whatever is not given keeps the engine's default; what has no
    keyword here is set as in a job file: `settings={"optimizer.momentum": 0.9}` (docs/spark.md).
    """

    _keywords = ("feature_cols", "inputs", "example_inputs")

    def __init__(self, model=None, feature_cols=None, label_cols=None, inputs=None, example_inputs=None, settings=None,
                 preprocessing=None, augmentation=None, features=None, **params):
        super().__init__()
        self._java_obj = java_class(SparkSession.active(), self._java_class)()
        self._resetUid(self._java_obj.uid())
        self._create_params_from_java()
        if feature_cols is not None:
            params["input_cols"] = feature_cols
        given = dict(params, label_cols=label_cols, preprocessing=_json(preprocessing), augmentation=_json(augmentation),
                     features=features if features is None else features_json(features), settings=_assignments(settings))
        if model is not None:
            given["model"] = _source(model, inputs, example_inputs)
        set_params(self, {name: value for name, value in given.items() if value is not None})

    def _fit(self, dataset):
        """Not as pyspark has it, which copies all that is called alike: a training's batches are not those of predictions."""
        return self._create_model(self._fit_java(dataset))

    def _fit_java(self, dataset):
        with engine_errors(), progress.shown(self._java_obj):
            return cancellable(dataset.sparkSession, lambda: super(Estimator, self)._fit_java(dataset))

    def _create_model(self, java_model):
        return Model(java_model)


def _json(value):
    return value if value is None or isinstance(value, str) else json.dumps(value)


def _assignments(settings):
    """A dict as the lines that Java takes."""
    if not isinstance(settings, dict):
        return settings
    return [f"{key}={_literal(key, value)}" for key, value in settings.items()]


def _literal(key, value):
    """As in TOML."""
    try:
        return value if isinstance(value, str) else json.dumps(value, default=plain)
    except TypeError as problem:
        raise TypeError(f"Invalid value of settings, {key}. {problem}") from None


def _source(model, inputs, example_inputs):
    """A path or a name that the estimator takes."""
    if isinstance(model, (str, pathlib.Path)):
        return str(model)
    path = pathlib.Path(_folder.name) / f"{uuid.uuid4()}.onnx"
    _trainable(model, inputs, example_inputs).save_for_training(str(path))
    return path.as_uri()


def _trainable(model, inputs, example_inputs):
    if isinstance(model, thalweg.Model):
        return model
    if isinstance(model, thalweg.nn.Module) and inputs is None:
        raise TypeError("a module of thalweg.nn needs inputs=, which says what a batch looks like: "
                        "Estimator(net, inputs=[thalweg.Input((None, 4))], ...) for rows of 4 numbers")
    if isinstance(model, (thalweg.Graph, thalweg.nn.Module)):
        return thalweg.Model(model) if inputs is None else thalweg.Model(model, inputs)
    torch = sys.modules.get("torch")
    if torch is None or not isinstance(model, torch.nn.Module):
        raise TypeError(f"a model is a module of thalweg.nn, a thalweg.Model or thalweg.Graph, a PyTorch module, the path of an "
                        f'ONNX file or "zoo:" and a name, not a {type(model).__name__}')
    if example_inputs is None:
        raise TypeError("a PyTorch module needs example_inputs=, a tensor or a tuple of those that its forward takes: "
                        "Estimator(module, example_inputs=torch.zeros(1, 4), ...)")
    return thalweg.from_torch(model, example_inputs)
