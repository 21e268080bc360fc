"""The look at every executor."""

import thalweg
import thalweg.spark


def test_every_executor_is_examined(spark, capsys):
    reports = thalweg.spark.doctor(spark)
    assert sorted(reports) == ["0", "1", "group"]
    group = reports.pop("group")
    assert "problem" not in group
    assert group["workers"] == 2
    for report in reports.values():
        assert "problem" not in report
        assert report["answer"] == 3.75
        assert report["system"]["version"] == thalweg.__version__
        assert report["system"]["processors"] >= 1
        assert report["task_cpus"] == 1
    printed = capsys.readouterr().out
    assert "executor 0 on" in printed and "the engine computes" in printed
    assert "2 worker(s) have trained" in printed


def test_memory_overhead_is_the_one_in_force(spark):
    reports = thalweg.spark.doctor(spark, show=False)
    assert reports["0"]["memory_overhead"] == "384m"
