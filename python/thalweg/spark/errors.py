"""Errors of the engine in the driver's JVM, as those that the Python package has for them."""

import contextlib

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException

import thalweg


@contextlib.contextmanager
def engine_errors():
    """Turns an exception that comes from Thalweg into a thalweg.Error of the same message; what Java said is its cause."""
    try:
        yield
    except (Py4JJavaError, PySparkException) as error:
        message = _message(error)
        if message is None:
            raise
        raise thalweg.Error(message) from error


def _message(error):
    """Of the outermost exception that is Thalweg's, be it in a failed task; None if there is none."""
    # pyspark turns some exceptions into its own, which keep the one of Java there.
    thrown = getattr(error, "java_exception", None) or getattr(error, "_origin", None)
    while thrown is not None:
        if thrown.getClass().getName().startswith("io.thalweg."):
            return thrown.getMessage()
        thrown = thrown.getCause()
    return None
