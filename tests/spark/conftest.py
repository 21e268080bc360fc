"""What the tests of the jar share: a Spark cluster on this machine whose executors are processes of their own.

THALWEG_SPARK_JAR is the jar (build/release/jvm/thalweg-spark.jar by default).
"""

import os
import pathlib
import sys

import numpy as np
import pytest
from pyspark.sql import SparkSession

import thalweg
from thalweg import nn

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "support"))
from processes import DEPS, JAVA_OPTIONS  # noqa: E402

JAR = pathlib.Path(os.environ.get("THALWEG_SPARK_JAR") or ROOT / "build" / "release" / "jvm" / "thalweg-spark.jar")


SKIPPED = 77
# What scripts/setup-spark has written down of Spark's classes; the JVM passes over one that does not suit it.
CLASSES = DEPS / "spark-classes.jsa"
SPARK_JAVA_OPTIONS = " ".join([*JAVA_OPTIONS, *([f"-XX:SharedArchiveFile={CLASSES}"] if CLASSES.exists() else [])])
# For the JVM that composes the commands by which others are started.
os.environ["SPARK_LAUNCHER_OPTS"] = " ".join(JAVA_OPTIONS)


def pytest_configure(config):
    config.addinivalue_line("markers", "slow: takes minutes; runs with make test-spark and make test-long")


def pytest_sessionstart():
    if not JAR.exists():
        pytest.exit(f"{JAR} is missing: make jar", returncode=SKIPPED)


def pytest_sessionfinish(session, exitstatus):
    # A file that needs what this machine does not have, such as PyTorch, has no case at all.
    if exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED:
        session.exitstatus = SKIPPED


def session(master, **settings):
    builder = SparkSession.builder.master(master).appName("thalweg tests").config("spark.jars", str(JAR))
    builder = builder.config("spark.ui.enabled", "false").config("spark.sql.shuffle.partitions", "2")
    builder = builder.config("spark.driver.memory", "1g").config("spark.driver.bindAddress", "127.0.0.1")
    builder = builder.config("spark.driver.host", "127.0.0.1")
    for process in ("driver", "executor"):
        name = f"spark__{process}__extraJavaOptions"
        settings[name] = f"{SPARK_JAVA_OPTIONS} {settings.get(name, '')}".strip()
    for name, value in settings.items():
        builder = builder.config(name.replace("__", "."), value)
    return builder.getOrCreate()


@pytest.fixture(scope="session")
def spark(tmp_path_factory):
    """Two executors of one core each."""
    work = tmp_path_factory.mktemp("spark")
    os.environ["SPARK_LOCAL_DIRS"] = str(work / "local")
    os.environ["SPARK_WORKER_DIR"] = str(work / "worker")
    running = session("local-cluster[2,1,1024]", spark__executor__memory="768m",
                      spark__sql__warehouse__dir=str(work / "warehouse"))
    yield running
    running.stop()


@pytest.fixture(scope="session")
def perceptron(tmp_path_factory):
    """A model of 4 numbers in, 3 out: its file, and what it answers."""
    net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3))
    model = thalweg.Model(net, [thalweg.Input((None, 4))])
    path = tmp_path_factory.mktemp("models") / "perceptron.onnx"
    model.save(str(path))
    return path, thalweg.Model.load(str(path))


@pytest.fixture
def rng():
    return np.random.default_rng(0)
