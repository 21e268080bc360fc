"""The jar, which brings the engine to the JVMs of Spark."""

import importlib.util
import os
import pathlib

_NAME = "thalweg-spark.jar"


def jar():
    """The path of the jar, for spark.jars: THALWEG_SPARK_JAR if that is set, else that of the package thalweg-spark-jar, else
    the one beside this file."""
    given = os.environ.get("THALWEG_SPARK_JAR")
    package = importlib.util.find_spec("thalweg_spark_jar")
    if given:
        path = pathlib.Path(given)
    else:
        path = pathlib.Path(package.origin if package else __file__).with_name(_NAME)
    if not path.exists():
        raise FileNotFoundError(f"there is no {path}: install thalweg-spark-jar (`make jar-wheel` builds it), or say with"
                                " THALWEG_SPARK_JAR where the jar is (`make jar`)")
    return str(path.resolve())


def java_class(spark, name):
    """A class of the jar in the driver's JVM."""
    found = spark.sparkContext._jvm
    for part in f"io.thalweg.spark.{name}".split("."):
        found = getattr(found, part)
    if type(found).__name__ != "JavaClass":
        raise RuntimeError("the session runs without Thalweg's jar: start it with "
                           'SparkSession.builder.config("spark.jars", thalweg.spark.jar()), or spark-submit --jars')
    return found
