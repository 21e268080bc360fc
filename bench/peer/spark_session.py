"""What the workers of the Spark cases share: the cluster and the files."""

import atexit
import os
import pathlib
import sys

from spark_cases import SPARK_CASES

DEPS = pathlib.Path(os.environ.get("THALWEG_DEPS") or pathlib.Path.home() / ".cache" / "thalweg")


# The longest that a worker may be stopped for.
STOPPED_SECONDS = 1800


def cases_of(worker):
    return [name for name, case in SPARK_CASES.items() if case["ours"] == pathlib.Path(worker).name]


def start(executors, folder):
    """A session with as many executors of one core; what they write goes to the folder. Ends with this process."""
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["SPARK_LOCAL_DIRS"] = os.environ["SPARK_WORKER_DIR"] = folder
    builder = SparkSession.builder.master(f"local-cluster[{executors},1,2048]").config("spark.executor.memory", "1g")
    builder = builder.config("spark.ui.enabled", "false").config("spark.driver.memory", "1g")
    # While the other side runs this one is stopped, and must not take its own executors for lost when it goes on.
    for timeout in ("spark.network.timeout", "spark.storage.blockManagerHeartbeatTimeoutMs"):
        builder = builder.config(timeout, f"{STOPPED_SECONDS}s")
    builder = builder.config("spark.worker.timeout", str(STOPPED_SECONDS))
    jar = os.environ.get("THALWEG_SPARK_JAR")
    if jar:
        builder = builder.config("spark.jars", jar)
    spark = builder.getOrCreate()
    atexit.register(spark.stop)
    return spark


def photos(count):
    """The first JPEGs of every class in turn; the name of a file's folder is its class."""
    folders = sorted(path for path in (DEPS / "bench-data" / "photos").iterdir() if path.is_dir())
    files = [sorted(folder.glob("*.jpg")) for folder in folders]
    turns = [group[i] for i in range(max(map(len, files))) for group in files if i < len(group)]
    return turns[:count]
