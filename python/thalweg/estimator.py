"""Training in the manner of scikit-learn."""

import functools
import inspect
import itertools
import operator
import os
import types
from collections.abc import Callable, Sequence
from typing import Any

import numpy

from thalweg import _inputs, _loaders, _workers
from thalweg._core import (
    Callback,
    Error,
    Graph,
    Input,
    InputError,
    Metric,
    Model,
    Optimizer,
    RateCurve,
    Scheme,
    Trainer,
    Value,
    data,
    find_learning_rate,
    groups,
)
from thalweg.history import History
from thalweg.nn import CrossEntropyLoss, Module, NLLLoss
from thalweg.progress import progress_callback

_WEIGHTS = ".safetensors"
# Of formats that others would expect in a file so named.
_OTHER_FORMATS = (".bin", ".ckpt", ".h5", ".keras", ".pb", ".pickle", ".pkl", ".pt", ".pth", ".tflite")
# Losses whose targets are the numbers of classes; None is cross entropy.
_CLASS_LOSSES = (None, "cross_entropy", "nll")


def is_weights(path):
    """Whether a file of this name holds weights only."""
    return os.fspath(path).endswith(_WEIGHTS)


def _dtypes_for(dtype):
    """The element types that numbers of this one may be meant as, the likeliest first: whole ones are what an embedding
    looks up, or else numbers like others."""
    return ("float32",) if dtype.startswith(("float", "bfloat")) else ("int64", "float32")


def _advice_on_targets(dataset):
    """For those who give y besides."""
    if _inputs.is_loader(dataset) or dataset.target_types:
        return "the data hold their targets already: leave y out"
    return (
        "the data hold no targets, and y goes with arrays only: give the dataset its targets, as in "
        "thalweg.data.Table(..., target='name') or thalweg.data.TensorDataset([X], [y])"
    )


class _OfTheClassToo:
    """A method ``load`` that an estimator changes itself by, and that makes one if it is asked of the class."""

    def __init__(self, load):
        self._load = load
        functools.update_wrapper(self, load)

    def __get__(self, estimator, owner):
        if estimator is not None:
            return types.MethodType(self._load, estimator)
        return functools.partial(_loaded, owner)


def _loaded(kind, path, **options):
    """A fitted estimator with the model of a file, and what the file has kept beside it."""
    if is_weights(path):
        raise InputError(f"'{os.fspath(path)}' holds weights only: make the {kind.__name__} with its module, and load into it")
    model = Model.load(os.fspath(path))
    return kind(model, **options)._take(model)


class _Beginning(Callback):
    """Knows whether a run has begun, which means that data and settings fit, and tells it."""

    def __init__(self, tell):
        super().__init__()
        self.seen = False
        self._tell = tell

    def on_start(self, state):
        self.seen = True
        self._tell()


class Estimator:
    """A model with what it takes to train it.

    ``model`` is a module, a graph or a Model. Modules and graphs are built anew by each fit, so that an estimator can be
    cloned and fitted again; a Model is trained on from the weights it has. ``schedule`` is one of thalweg.schedules,
    ``early_stopping`` a dict such as {"patience": 3}, ``checkpoints`` and ``tensorboard`` are folders. Whatever is None
    keeps the engine's default: cross entropy and Adam, to begin with. ``options`` are further options of thalweg.Trainer.
    ``workers`` is how many processes of this machine train together, and ``scheme`` the name of how they agree; without
    workers it may be what thalweg.groups.join() gave.

    >>> import numpy, thalweg
    >>> from thalweg import nn
    >>> x = numpy.random.default_rng(0).normal(size=(200, 2))
    >>> y = (x[:, 0] > x[:, 1]).astype("int64")
    >>> net = nn.Sequential(nn.Linear(2, 16), nn.ReLU(), nn.Linear(16, 2))
    >>> estimator = thalweg.Estimator(net, metrics=["accuracy"], epochs=20, learning_rate=0.01, progress="none")
    >>> estimator.fit(x, y).score(x, y) > 0.9
    True
    """

    def __init__(
        self,
        model: Module | Graph | Model,
        loss: str | Callable[..., Value] | None = None,
        optimizer: str | Optimizer | None = None,
        metrics: str | Metric | Sequence[str | Metric] = (),
        batch_size: int | None = None,
        epochs: int | None = None,
        learning_rate: float | None = None,
        schedule: Any = None,
        early_stopping: dict[str, Any] | None = None,
        checkpoints: str | os.PathLike[str] | None = None,
        tensorboard: str | os.PathLike[str] | None = None,
        scheme: str | Scheme | None = None,
        workers: int | None = None,
        seed: int | None = None,
        progress: str | None = None,
        callbacks: Sequence[Callback] = (),
        options: dict[str, Any] | None = None,
    ):
        self.model = model
        self.loss = loss
        self.optimizer = optimizer
        self.metrics = metrics
        self.batch_size = batch_size
        self.epochs = epochs
        self.learning_rate = learning_rate
        self.schedule = schedule
        self.early_stopping = early_stopping
        self.checkpoints = checkpoints
        self.tensorboard = tensorboard
        self.scheme = scheme
        self.workers = workers
        self.seed = seed
        self.progress = progress
        self.callbacks = callbacks
        self.options = options

    # What scikit-learn asks of an estimator.

    @classmethod
    def _parameter_names(cls):
        return [name for name in inspect.signature(cls.__init__).parameters if name != "self"]

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self._parameter_names()}

    def set_params(self, **params: Any) -> "Estimator":
        for name, value in params.items():
            if name not in self._parameter_names():
                raise ValueError(f"an estimator has no parameter '{name}'; it has {', '.join(self._parameter_names())}")
            setattr(self, name, value)
        return self

    def _learns_classes(self):
        return self.loss in _CLASS_LOSSES or isinstance(self.loss, (CrossEntropyLoss, NLLLoss))

    def __sklearn_tags__(self):
        from sklearn.utils import ClassifierTags, Tags, TargetTags

        # cross_val_score then gives every fold its share of each class.
        tags = Tags(estimator_type=None, target_tags=TargetTags(required=True))
        if self._learns_classes():
            tags.estimator_type, tags.classifier_tags = "classifier", ClassifierTags()
        return tags

    def __sklearn_is_fitted__(self):
        return hasattr(self, "model_")

    def __repr__(self):
        return f"{type(self).__name__}({type(self.model).__name__}, loss={self.loss!r}, optimizer={self.optimizer!r})"

    # Training.

    def fit(self, X: Any, y: Any = None, validation: Any = None, resume: str | os.PathLike[str] | None = None) -> "Estimator":
        """Trains on arrays, a table, a dataset or a DataLoader; ``validation`` is a dataset or a pair (X, y).

        ``resume`` is a folder of checkpoints to go on from. After Ctrl-C the estimator is fitted as far as it came, and
        KeyboardInterrupt goes on.
        """
        self._check_scheme()
        # Kept apart until the run begins: a fit that fails before leaves the estimator as it was.
        self._new_names = _inputs.trained_names(X)
        self._new_metadata = dict(X.metadata) if isinstance(X, data.Dataset) else {}
        try:
            self._fit(X, y, validation, resume)
        finally:
            del self._new_names, self._new_metadata
        return self

    def _fit(self, X, y, validation, resume):
        model = self._build(X)
        train, checked = self._dataset(model, X, y), self._validation(model, validation)
        options = _loaders.loader_options(X) if _inputs.is_loader(X) else {}

        def work(scheme):
            self._work(model, train, checked, resume, scheme, options)

        workers = 1 if self.workers is None else _workers.number_of(self.workers)
        if workers == 1:
            work(None if isinstance(self.scheme, str) else self.scheme)
            return
        with _workers.group(workers, self.scheme, work) as scheme:
            work(scheme)

    def _check_scheme(self):
        if isinstance(self.scheme, str) and self.scheme not in groups.schemes():
            raise InputError(f"there is no scheme '{self.scheme}'; there are {', '.join(sorted(groups.schemes()))}")
        if isinstance(self.scheme, str) and self.workers is None:
            raise InputError(
                f"scheme '{self.scheme}' is how several workers agree, but there is one: give workers=, or under 'thalweg "
                f"launch' scheme=thalweg.groups.join('{self.scheme}')"
            )
        if isinstance(self.scheme, Scheme) and self.workers not in (None, 1):
            raise InputError("scheme is a group that this process has joined already: leave workers out")

    def _work(self, model, train, validation, resume, scheme, options):
        """What each process does."""
        beginning = _Beginning(lambda: self._begin(model))
        trainer = self._trainer(model, scheme, [beginning], options, self._training_loss())
        if resume is not None:
            trainer.resume(resume)
        try:
            trainer.fit(train, validation)
        finally:
            # What fails before leaves the estimator as it was.
            if beginning.seen:
                self.history_ = History(trainer.history)
                self.skipped_ = trainer.skipped

    def _begin(self, model):
        """From here on the estimator is that of the run under way; a hook."""
        self.model_ = model
        self._keep_names(self._new_names)
        self.data_metadata_ = self._new_metadata

    def _keep_names(self, names):
        """Of the columns that the model was trained with; None if they had none."""
        if names is not None:
            self.feature_names_in_ = numpy.array(names, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_

    def find_learning_rate(self, X: Any, y: Any = None, **options: Any) -> RateCurve:
        """What the loss does as the learning rate grows (thalweg.find_learning_rate); trains nothing for good."""
        model = self._build(X)
        train = self._dataset(model, X, y)
        return find_learning_rate(model, self.loss, self.optimizer, train, batch_size=self.batch_size, **options)

    def evaluate(self, X: Any, y: Any = None) -> dict[str, float]:
        """The loss and every metric by its name."""
        model = self._fitted()
        return self._trainer(model).evaluate(self._dataset(model, X, y))

    def score(self, X: Any, y: Any = None) -> float:
        """The first metric, negative if lower is better, or minus the loss if there is none."""
        model = self._fitted()
        return self._trainer(model).score(self._dataset(model, X, y))

    def predict(self, X: Any) -> Any:
        """The outputs of the model for arrays, a table, a dataset or a DataLoader, in batches of ``batch_size``."""
        model = self._fitted()
        return data.predict(model, self._source(model, X), self.batch_size)

    def save(self, path: str | os.PathLike[str], metadata: dict[str, str] | None = None) -> None:
        """What the model computes, as an ONNX file that thalweg.Model.load or any other runtime reads, with ``metadata``,
        and what the data say that the estimator was fitted to: columns of a table, how images or lines of text become the
        model's input, names of classes; if the name ends in .safetensors, the weights, which ``load`` takes."""
        model = self._fitted()
        if os.path.splitext(os.fspath(path))[1] in _OTHER_FORMATS:
            raise InputError(
                f"'{os.fspath(path)}' is the name of a format that is not written: take .onnx, or .safetensors for the weights"
            )
        if is_weights(path):
            model.save_weights(os.fspath(path))
        else:
            model.save(os.fspath(path), {**self._columns_metadata(), **getattr(self, "data_metadata_", {}), **(metadata or {})})

    @_OfTheClassToo
    def load(self, path: str | os.PathLike[str], X: Any = None) -> "Estimator":
        """Takes the model of an ONNX file or the weights of a .safetensors file. For weights, an estimator of a module that
        was not fitted needs data such as X, of which it looks at the types only. Asked of the class, as in
        ``Estimator.load("model.onnx")``, it gives a fitted estimator; further arguments are those of the class."""
        if not is_weights(path):
            return self._take(Model.load(os.fspath(path)))
        model = self.model_ if hasattr(self, "model_") else self._build(X)
        model.load_weights(os.fspath(path))
        self.model_ = model
        return self

    # Inside.

    def _take(self, model):
        """Becomes the estimator of a model from a file; a hook."""
        self.model_ = model
        self.data_metadata_ = {}
        self._keep_names(data.columns_from_metadata(model.metadata))
        return self

    def _fitted(self):
        if not hasattr(self, "model_"):
            raise InputError("this estimator has not been fitted: call fit first")
        return self.model_

    def _build(self, X):
        if isinstance(self.model, Model):
            return self.model
        if isinstance(self.model, Graph):
            return Model(self.model)
        if not isinstance(self.model, Module):
            of_torch = any(base.__module__.startswith("torch.nn") for base in type(self.model).__mro__)
            hint = ": convert it with thalweg.from_torch(module, example_inputs)" if of_torch else ""
            name = "PyTorch module" if of_torch else type(self.model).__name__
            raise TypeError(f"an estimator needs a module, a graph or a model of thalweg, not a {name}{hint}")
        seed = {} if self.seed is None else {"seed": self._checked_seed()}
        types, names = self._types(X)
        names = names or [""] * len(types)
        failures = []
        for dtypes in itertools.product(*(_dtypes_for(dtype) for dtype, _ in types)):
            inputs = [Input((None, *shape[1:]), dtype, name) for dtype, (_, shape), name in zip(dtypes, types, names)]
            try:
                return self._model_of(self.model, inputs, **seed)
            except Error as error:
                failures.append(f"{error} (for {', '.join(f'{value.dtype}{value.shape}' for value in inputs)})")
        raise InputError(f"the module does not fit X: {'; '.join(failures)}")

    def _model_of(self, module, inputs, **seed):
        """A hook."""
        return Model(module, inputs, **seed)

    def _training_loss(self):
        """What fit makes small; a hook."""
        return self.loss

    def _checked_seed(self):
        try:
            seed = operator.index(self.seed)
        except TypeError:
            seed = -1
        if not 0 <= seed < 2**64:
            raise InputError(f"seed is {self.seed!r}, must be a whole number, at least 0")
        return seed

    @staticmethod
    def _types(X):
        """Element type and shape of each input, and their names or None."""
        if X is None:
            raise InputError("X is missing: a module is built for the inputs that the data have")
        if _inputs.is_loader(X):
            source = _loaders.LoaderSource(X)
            return source.dataset(source.is_labelled).input_types, source.input_names
        if _inputs.is_dataset(X):
            return X.input_types, None
        types = data.TensorDataset([array for array, _ in _inputs.arrays_of(X, "X")]).input_types
        return types, list(X) if isinstance(X, dict) else None

    @staticmethod
    def _loader_source(model, loader):
        return _loaders.LoaderSource(loader, inputs=[value.name for value in model.graph.inputs])

    def _source(self, model, X):
        """What there is to predict from."""
        if _inputs.is_loader(X):
            return self._loader_source(model, X).dataset(False, _loaders.Fitting(model.graph))
        return X if _inputs.is_dataset(X) else self._inputs(model, X)

    def _known_names(self):
        """Of the columns that the model is trained with, or None."""
        if hasattr(self, "_new_names"):
            return self._new_names
        return list(self.feature_names_in_) if hasattr(self, "feature_names_in_") else None

    def _columns_metadata(self):
        names = self._known_names()
        # A name that comes twice does not say which column is meant.
        return {} if names is None or len(set(names)) < len(names) else data.columns_metadata(names)

    def _inputs(self, model, X):
        declared = model.graph.inputs
        names = self._known_names()
        if names is not None and _inputs.column_names(X) is not None:
            X = _inputs.in_order(X, names)
        if isinstance(X, dict) and X.keys() == {value.name for value in declared}:
            X = {value.name: X[value.name] for value in declared}
        arrays = _inputs.arrays_of(X, "X")
        if len(arrays) != len(declared):
            raise InputError(f"the model has {len(declared)} inputs, got {len(arrays)}")
        return [data.fit_input(array, value, names) for (array, names), value in zip(arrays, declared)]

    def _dataset(self, model, X, y):
        if _inputs.is_dataset(X):
            if y is not None:
                raise InputError(_advice_on_targets(X))
            if not _inputs.is_loader(X):
                return X
            return self._loader_source(model, X).dataset(True, _loaders.Fitting(model.graph, self.loss))
        if y is None:
            raise InputError("there are no targets: give y")
        inputs = self._inputs(model, X)
        targets = _inputs.arrays_of(self._labels(model, y), "y")
        if len(targets) != 1:
            raise InputError(f"y holds {len(targets)} arrays: for several targets make a thalweg.data.TensorDataset")
        names = [f"input '{value.name}'" for value in model.graph.inputs] + ["the target"]
        data.require_same_rows([*inputs, targets[0][0]], names)
        return data.TensorDataset(inputs, [data.fit_target(targets[0][0], model.graph, self.loss)])

    def _labels(self, model, y):
        """What the model is to learn of y; a hook."""
        if _inputs.holds_texts(y):
            raise InputError("y holds texts, not numbers: take thalweg.Classifier, which numbers them, or encode them")
        return y

    def _metrics(self, model):
        """A hook."""
        return self.metrics

    def _validation(self, model, given):
        if given is None:
            return None
        if isinstance(given, (tuple, list)):
            if len(given) != 2:
                raise InputError(f"validation is a pair (X, y) or a dataset, not {len(given)} things")
            return self._dataset(model, *given)
        if not _inputs.is_dataset(given):
            raise InputError(f"validation is a pair (X, y) or a dataset, not a {type(given).__name__}")
        return self._dataset(model, given, None)

    def _trainer(self, model, scheme=None, watchers=(), defaults=None, loss=None):
        """``defaults`` are options that what the user has set goes before."""
        show, callbacks = progress_callback(self.progress)
        given = {
            "batch_size": self.batch_size,
            "epochs": self.epochs,
            "learning_rate": self.learning_rate,
            "schedule": self.schedule,
            "early_stopping": self.early_stopping,
            "checkpoints": self.checkpoints,
            "tensorboard": self.tensorboard,
            "metrics": self._metrics(model),
            "seed": self.seed,
            "scheme": scheme,
            "progress": show,
            "callbacks": [*watchers, *self.callbacks, *callbacks],
        }
        for callback in given["callbacks"]:
            if not isinstance(callback, Callback):
                raise TypeError(f"a callback is a thalweg.Callback, not a {type(callback).__name__}")
        for name in (self.options or {}).keys() & given.keys():
            raise InputError(f"'{name}' is an argument of the estimator itself: leave it out of options")
        chosen = {name: value for name, value in {**given, **(self.options or {})}.items() if value is not None}
        return Trainer(model, self.loss if loss is None else loss, self.optimizer, **{**(defaults or {}), **chosen})
