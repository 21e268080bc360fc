"""Regression in the manner of scikit-learn."""

import os
from typing import Any

import numpy

from thalweg import _inputs, losses
from thalweg._core import Model, RateCurve, trace
from thalweg.data import Dataset, from_loader
from thalweg.estimator import Estimator
from thalweg.nn import Module

# Rows of a dataset that mean and deviation of its target are taken from.
_ROWS_OF_A_SAMPLE = 4096
# Losses that look at nothing but how far a prediction is from its target.
_OF_DIFFERENCES = ("mse", "l1", "smooth_l1", "huber", "log_cosh")


class Regressor(Estimator):
    """An Estimator of numbers: ``predict`` gives [rows] where the model has one column, the loss is "mse" and the score r2.

    Networks learn numbers around 1 best. With ``scale_target`` a module therefore learns the target in deviations from its
    mean over the training data, and what turns its output back into the target's own unit is part of the model (its states
    ``target.mean`` and ``target.deviation``), also in files, checkpoints and weights. The loss of the training's history is that of scaled targets; metrics and ``evaluate`` are in the target's unit.
    Graphs and models are trained as they are.

    >>> import numpy, thalweg
    >>> from thalweg import nn
    >>> x = numpy.random.default_rng(0).normal(size=(200, 2))
    >>> y = 1000 + 300 * x[:, 0]
    >>> regressor = thalweg.Regressor(nn.Linear(2, 1), epochs=30, learning_rate=0.05, progress="none").fit(x, y)
    >>> regressor.predict(x).shape, regressor.score(x, y) > 0.9
    ((200,), True)
    """

    def __init__(self, model: Module | Any, loss: Any = "mse", *arguments: Any, scale_target: bool = True, **named: Any):
        super().__init__(model, loss, *arguments, **named)
        self.scale_target = scale_target

    @classmethod
    def _parameter_names(cls):
        return [*Estimator._parameter_names(), "scale_target"]

    def __sklearn_tags__(self):
        from sklearn.utils import RegressorTags

        tags = super().__sklearn_tags__()
        tags.estimator_type, tags.classifier_tags, tags.regressor_tags = "regressor", None, RegressorTags()
        return tags

    def fit(self, X: Any, y: Any = None, validation: Any = None, resume: str | os.PathLike[str] | None = None) -> "Regressor":
        self._scale = self._scale_of(X, y)
        try:
            super().fit(X, y, validation, resume)
        finally:
            del self._scale
        return self

    def find_learning_rate(self, X: Any, y: Any = None, **options: Any) -> RateCurve:
        self._scale = self._scale_of(X, y)
        try:
            return super().find_learning_rate(X, y, **options)
        finally:
            del self._scale

    def predict(self, X: Any) -> Any:
        """The number, or numbers, of each row."""
        outputs = super().predict(X)
        is_column = isinstance(outputs, numpy.ndarray) and outputs.ndim == 2 and outputs.shape[1] == 1
        return outputs[:, 0] if is_column else outputs

    # Inside.

    def _metrics(self, model):
        return self.metrics or ["r2"]

    def _scale_of(self, X, y):
        """Mean and deviation of each column of the target; None if it is learnt as it is."""
        if not self.scale_target or not isinstance(self.model, Module):
            return None
        target = self._sample_of_targets(X) if y is None else y
        if target is None:
            return None
        targets = _inputs.arrays_of(target, "y")
        values = numpy.asarray(targets[0][0], "float64")
        if len(targets) != 1 or values.ndim not in (1, 2) or len(values) == 0 or not numpy.isfinite(values).all():
            return None  # what is wrong with it is said when it is needed
        columns = values.reshape(len(values), -1)
        deviation = columns.std(axis=0)
        return columns.mean(axis=0), numpy.where(deviation > 0, deviation, 1.0)

    def _model_of(self, module, inputs, **seed):
        if not self.scale_target:
            return super()._model_of(module, inputs, **seed)
        graph = trace(module, inputs, **seed)
        output = graph.outputs[0]
        if len(graph.outputs) != 1 or output.ndim not in (1, 2) or output.ndim == 2 and output.shape[1] is None:
            self._scale = None
            return Model(graph)
        columns = output.shape[1] if output.ndim == 2 else 1
        scale = getattr(self, "_scale", None)
        if scale is None or len(scale[0]) != columns:
            # What is loaded into the model says it, or nobody.
            self._scale = None
            scale = numpy.zeros(columns), numpy.ones(columns)
        mean, deviation = (
            graph.state(f"target.{name}", values.astype("float32")) for name, values in zip(("mean", "deviation"), scale)
        )
        (prediction,) = graph.add("add", [output * deviation, mean], name="prediction")
        graph.replace_output(output, prediction)
        return Model(graph)

    def _training_loss(self):
        scale = getattr(self, "_scale", None)
        if scale is None or self.loss not in _OF_DIFFERENCES:
            return self.loss
        mean, deviation = (float(values[0]) if len(values) == 1 else values.astype("float32") for values in scale)
        loss = getattr(losses, self.loss)

        def scaled(prediction, target):
            return loss((prediction - mean) / deviation, (target - mean) / deviation)

        return scaled

    @staticmethod
    def _sample_of_targets(X):
        """Of a dataset or a loader: the first target of some samples; None if it has none."""
        samples = from_loader(X) if _inputs.is_loader(X) else X
        if not isinstance(samples, Dataset) or len(samples.target_types) != 1 or len(samples) == 0:
            return None
        step = max(1, len(samples) // _ROWS_OF_A_SAMPLE)
        return samples.fetch(list(range(0, len(samples), step))[:_ROWS_OF_A_SAMPLE])[1][0]
