"""Prediction and training in sessions of their own: on stand-alone clusters, on YARN with HDFS, and ten times over."""

import pathlib
import shutil

import pyspark
import pytest
from clusters import DEPS, run_check, stand_alone, yarn

SPARK_JARS = pathlib.Path(pyspark.__file__).parent / "jars"


@pytest.fixture(scope="module")
def cluster(perceptron, tmp_path_factory):
    """The address of a cluster, and a folder with a model in it."""
    folder = tmp_path_factory.mktemp("stand-alone")
    shutil.copy(perceptron[0], folder)
    with stand_alone(folder) as address:
        yield address, str(folder)


def test_every_worker_has_its_executor(tmp_path):
    run_check("placement", "local-cluster[2,2,1024]", str(tmp_path), "spark__executor__memory=512m",
              "spark__default__parallelism=200", SPARK_LOCAL_DIRS=str(tmp_path / "local"),
              SPARK_WORKER_DIR=str(tmp_path / "worker"))


def test_the_doctor_awaits_the_executors_of_a_stand_alone_cluster(cluster):
    run_check("doctor_of_two", *cluster, "spark__executor__memory=512m")


def test_the_doctor_has_executors_come_where_there_is_none(tmp_path):
    run_check("doctor_of_one", "local-cluster[1,1,1024]", str(tmp_path), "spark__executor__memory=512m",
              "spark__dynamicAllocation__enabled=true", "spark__dynamicAllocation__shuffleTracking__enabled=true",
              "spark__dynamicAllocation__minExecutors=0", "spark__dynamicAllocation__initialExecutors=0",
              "spark__executor__cores=1", SPARK_LOCAL_DIRS=str(tmp_path / "local"), SPARK_WORKER_DIR=str(tmp_path / "worker"))


@pytest.mark.slow
@pytest.mark.parametrize("what", ["predict", "lost_executor"])
def test_on_a_stand_alone_cluster(cluster, what):
    run_check(what, *cluster, "spark__executor__memory=768m")


@pytest.mark.slow
@pytest.mark.parametrize("what, settings", [
    ("speculation", ["spark__speculation=true", "spark__speculation__interval=200ms",
                     "spark__speculation__task__duration__threshold=500ms", "spark__executor__cores=2"]),
    ("dynamic_allocation", ["spark__dynamicAllocation__enabled=true", "spark__dynamicAllocation__shuffleTracking__enabled=true",
                            "spark__dynamicAllocation__executorIdleTimeout=3s",
                            "spark__dynamicAllocation__shuffleTracking__timeout=3s", "spark__executor__cores=1",
                            "spark__dynamicAllocation__maxExecutors=2"]),
])
def test_when_spark_decides_about_tasks_and_executors(tmp_path, what, settings):
    with stand_alone(tmp_path, cores=2) as address:
        run_check(what, address, str(tmp_path), "spark__executor__memory=512m", *settings)


@pytest.mark.slow
def test_fits_leak_nothing(tmp_path):
    # The heap is in memory from the beginning, so that only what is outside of it can grow.
    run_check("ten_fits", "local-cluster[2,1,512]", str(tmp_path), "spark__executor__memory=512m",
              "spark__executor__extraJavaOptions=-Xms512m -XX:+AlwaysPreTouch", SPARK_LOCAL_DIRS=str(tmp_path / "local"),
              SPARK_WORKER_DIR=str(tmp_path / "worker"))


@pytest.mark.slow
@pytest.mark.skipif(not (DEPS / "yarn").exists(), reason="scripts/setup-yarn installs YARN")
def test_on_yarn(tmp_path):
    settings = ["spark__executor__instances=2", "spark__executor__memory=768m", "spark__yarn__am__memory=512m",
                f"spark__yarn__jars=local:{SPARK_JARS}/*"]
    with yarn(tmp_path) as (files, configuration):
        for what, folder in (("train", f"{files}/thalweg"), ("lost_executor", str(tmp_path))):
            run_check(what, "yarn", folder, *settings, HADOOP_CONF_DIR=str(configuration))
