"""What Python's side of a stage needs besides pyspark's wrappers. Parameters and their defaults are the Java object's."""

import re
import sys
import types

from pyspark.ml.util import JavaMLReader
from pyspark.sql import SparkSession

from thalweg.spark.jar import java_class


def set_params(stage, values):
    """Sets parameters by name; input_cols and inputCols are the same."""
    named = {re.sub("_([a-z])", lambda match: match.group(1).upper(), name): value for name, value in values.items()}
    for name in named:
        if not stage.hasParam(name):
            known = ", ".join(param.name for param in stage.params)
            raise TypeError(f"there is no parameter {name}; the parameters are {known}")
    return stage._set(**named)


def register(java_name):
    """Makes the decorated class the one that pyspark finds for a Java stage, as in a pipeline that it reads.

    pyspark imports what a Java class is called, and Python has a module `io` of its own, in which nothing else is found.
    """

    def decorate(cls):
        package, _, name = java_name.rpartition(".")
        setattr(sys.modules.setdefault(package, types.ModuleType(package)), name, cls)
        return cls

    return decorate


def reader(cls, java_name):
    """Reads stages of a class of the jar, which pyspark would look for under the name of the Python class."""

    class Reader(JavaMLReader):
        @classmethod
        def _load_java_obj(cls, clazz):
            return java_class(SparkSession.active(), java_name)

    return Reader(cls)
