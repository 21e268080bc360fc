"""What Python's side of a stage needs besides pyspark's wrappers. Parameters and their defaults are the Java object's."""

import difflib
import re
import sys
import types

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.ml.util import DefaultParamsReader, JavaMLReadable, JavaMLReader, JavaMLWritable, JavaMLWriter
from pyspark.sql import SparkSession

import thalweg
from thalweg.spark.arguments import converter
from thalweg.spark.errors import engine_errors
from thalweg.spark.jar import java_class

_PACKAGE = "io.thalweg.spark"
_python_names = {}


class Stage(JavaMLReadable, JavaMLWritable):
    """Comes before pyspark's wrapper among the bases of a class."""

    _java_class = None
    # Arguments that are no parameters of Java, or other names of them.
    _keywords = ()

    def _create_params_from_java(self):
        super()._create_params_from_java()
        for java_param in self._java_obj.params():
            getattr(self, java_param.name()).typeConverter = converter(java_param)

    def write(self):
        return _Writer(self)

    @classmethod
    def read(cls):
        return _Reader(cls)


def _python_name(java_name):
    return re.sub("([A-Z])", lambda match: "_" + match.group(1).lower(), java_name)


def _unknown(given, known):
    near = difflib.get_close_matches(_python_name(given), known, n=1)
    meant = f" (did you mean {near[0]}?)" if near else ""
    return f"there is no parameter {given}{meant}; the parameters are {', '.join(sorted(set(known)))}"


def set_params(stage, values):
    """Sets parameters by name, or clears those that are None; input_cols and inputCols are the same."""
    named = {}
    for given, value in values.items():
        name = re.sub("_([a-z])", lambda match: match.group(1).upper(), given)
        if not stage.hasParam(name):
            raise TypeError(_unknown(given, [*stage._keywords, *(_python_name(param.name) for param in stage.params)]))
        named[name] = value
    for name, value in named.items():
        if value is None:
            stage.clear(stage.getParam(name))
    return stage._set(**{name: value for name, value in named.items() if value is not None})


def register(java_name):
    """Makes the decorated class the one that pyspark finds for a Java stage, as in a pipeline that it reads.

    pyspark imports what a Java class is called, and Python has a module `io` of its own, in which nothing else is found.
    """

    def decorate(cls):
        cls._java_class = java_name
        _python_names[f"{_PACKAGE}.{java_name}"] = f"thalweg.spark.{cls.__name__}"
        setattr(sys.modules.setdefault(_PACKAGE, types.ModuleType(_PACKAGE)), java_name, cls)
        return cls

    return decorate


class _Writer(JavaMLWriter):
    def save(self, path):
        with engine_errors():
            super().save(str(path))


class _Reader(JavaMLReader):
    @classmethod
    def _load_java_obj(cls, clazz):
        """pyspark would look for it under the name of the Python class."""
        return java_class(SparkSession.active(), clazz._java_class)

    def load(self, path):
        with engine_errors():
            try:
                return super().load(str(path))
            except (Py4JError, PySparkException) as error:
                saved = _saved_class(str(path))
                if saved in (None, f"{_PACKAGE}.{self._clazz._java_class}"):
                    raise
                reader = _python_names.get(saved, saved.replace("org.apache.spark", "pyspark"))
                raise thalweg.Error(f"{path} holds a {saved}: {reader}.load reads it") from error


def _saved_class(path):
    """What is in a folder, in Java's words; None if no stage is."""
    try:
        return DefaultParamsReader.loadMetadata(path, SparkSession.active().sparkContext)["class"]
    except Exception:
        return None
