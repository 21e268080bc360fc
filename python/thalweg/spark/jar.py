"""The jar, which brings the engine to the JVMs of Spark."""

import os
import pathlib

_NAME = "thalweg-spark.jar"


def jar():
    """The path of the jar, for spark.jars: THALWEG_SPARK_JAR if that is set, else the one beside this package."""
    path = pathlib.Path(os.environ.get("THALWEG_SPARK_JAR") or pathlib.Path(__file__).with_name(_NAME))
    if not path.exists():
        raise FileNotFoundError(f"there is no {path}; `make jar` builds it, and THALWEG_SPARK_JAR says where it is")
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
