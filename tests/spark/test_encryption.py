"""Workers encrypt what they send each other if they are told to, or if Spark encrypts what its own processes send."""

import pathlib
import subprocess
import sys

from encrypted_fit import report_of_fit
from processes import LONG_PATIENCE

HERE = pathlib.Path(__file__).resolve().parent


def test_workers_use_tls_if_spark_encrypts(tmp_path):
    run = subprocess.run([sys.executable, str(HERE / "encrypted_fit.py"), "spark__authenticate=true",
                          "spark__authenticate__secret=of-this-test", "spark__network__crypto__enabled=true"],
                         cwd=tmp_path, timeout=LONG_PATIENCE, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr[-3000:]


def test_workers_use_tls_if_told_to(spark):
    assert report_of_fit(spark, tls=True)["tls"]
    assert not report_of_fit(spark)["tls"]
