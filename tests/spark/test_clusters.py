"""Prediction on clusters other than local-cluster, which these tests start, and stop whatever happens."""

import contextlib
import os
import pathlib
import shutil
import subprocess
import sys
import time

import pyspark
import pytest

HERE = pathlib.Path(__file__).resolve().parent
SPARK_CLASS = pathlib.Path(pyspark.__file__).parent / "bin" / "spark-class"
PATIENCE = 240  # seconds: a busy machine takes its time


def stop(process):
    """Asks, then ends it; only this process, by its number."""
    for ask in (process.terminate, process.kill):
        ask()
        try:
            process.wait(20)
            return
        except subprocess.TimeoutExpired:
            continue


def wait_for(process, log, text):
    """The line of a log that holds the text, once it is there."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        for line in log.read_text().splitlines():
            if text in line:
                return line
        if process.poll() is not None:
            break
        time.sleep(0.2)
    raise RuntimeError(f"no '{text}' from {process.args[1]} within {PATIENCE} s; status {process.poll()}:\n"
                       + log.read_text()[-2000:])


@contextlib.contextmanager
def daemon(folder, name, *arguments):
    """A process of Spark's own, as (process, log)."""
    log = folder / f"{name}.log"
    with open(log, "w") as output:
        process = subprocess.Popen([str(SPARK_CLASS), *arguments], stdout=output, stderr=subprocess.STDOUT, cwd=folder,
                                   env=os.environ | {"SPARK_NO_DAEMONIZE": "1", "SPARK_DAEMON_MEMORY": "256m"})
    try:
        yield process, log
    finally:
        stop(process)


@pytest.mark.slow
def test_stand_alone_cluster(perceptron, tmp_path):
    shutil.copy(perceptron[0], tmp_path)
    with contextlib.ExitStack() as stack:
        master, log = stack.enter_context(daemon(tmp_path, "master", "org.apache.spark.deploy.master.Master", "--host",
                                                 "127.0.0.1", "--port", "0", "--webui-port", "0"))
        address = wait_for(master, log, "Starting Spark master at").rpartition(" ")[2]
        for number in range(2):
            worker, log = stack.enter_context(daemon(
                tmp_path, f"worker{number}", "org.apache.spark.deploy.worker.Worker", "--host", "127.0.0.1", "--cores", "1",
                "--memory", "1g", "--webui-port", "0", "--work-dir", str(tmp_path / f"work{number}"), address))
            wait_for(worker, log, "Successfully registered with master")
        subprocess.run([sys.executable, str(HERE / "cluster_check.py"), address, str(tmp_path),
                        "spark__executor__memory=768m"], check=True, timeout=PATIENCE)
