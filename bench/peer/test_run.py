#!/usr/bin/env python3
"""Tests bench/run.py with workers that only pretend to train. Standard library only; takes seconds.

    python3 bench/peer/test_run.py
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

RUN = pathlib.Path(__file__).resolve().parents[1] / "run.py"

# Stands for both sides: as the peer it is started like Python, with the worker's file as first argument.
FAKE = """#!{python}
import json, os, pathlib, sys, time
arguments = sys.argv[1:]
config = arguments[arguments.index("--config") + 1] if "--config" in arguments else "ours"
behaviour = json.loads(os.environ["FAKE"]).get(config, {{}})
if behaviour.get("crash"):
    print("segmentation violation, more or less", file=sys.stderr)
    sys.exit(7)
print(json.dumps({{"ready": True, "config": config, "version": "0", "pairs": "sync" in behaviour}}), flush=True)
step = 0


def busy_loops():
    states = [path.read_text().rpartition(")")[2].split()[0] for path in pathlib.Path("/proc").glob("[0-9]*/stat")
              if "while True: pass" in (path.parent / "cmdline").read_text()]
    return any(state == "R" for state in states)


for line in sys.stdin:
    if line.split() == ["quit"]:
        break
    n = int(line.split()[1])
    if behaviour.get("hang"):
        time.sleep(1000)
    if behaviour.get("garbage"):
        print("hello", flush=True)
        continue
    if behaviour.get("error"):
        print(json.dumps({{"error": behaviour["error"]}}), flush=True)
        sys.exit(1)
    if line.split()[0] == "pairs":
        alone = [10.0 + i for i in range(n)]
        print(json.dumps({{"together_ms": [x + behaviour["sync"] for x in alone], "alone_ms": alone}}), flush=True)
        continue
    losses = [behaviour.get("loss", 2.0) - 0.01 * (step + i) for i in range(n)]
    step += n
    ms = behaviour.get("ms", 100.0)
    if "beside" in behaviour and busy_loops():
        ms *= behaviour["beside"]
    more = {{"wait_ms": [behaviour["wait"]] * n, "decode_ms": 20}} if "wait" in behaviour else {{}}
    print(json.dumps({{"ms": ([ms + 5, ms] + [ms + 9] * n)[:n], "losses": losses, "peak_mb": behaviour.get("peak", 50)}} | more), flush=True)
"""

CASE = "train_lstm_text_b32"  # two configurations: default and compile
RECORDED = "spark_lenet_iters"
LIMITED = "data_wait_resnet50"
TOGETHER = "ddp_alexnet_b16_x2"
BESIDE = "beside_load_infer_mobilenet_v2_b1_f32"


class RunTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.fake = self.folder / "fake"
        self.fake.write_text(FAKE.format(python=sys.executable))
        self.fake.chmod(0o755)

    def run_bench(self, behaviours, *arguments, binary=None, cases=(CASE,)):
        environment = dict(os.environ, FAKE=json.dumps(behaviours), THALWEG_BENCH_PYTHON=str(self.fake),
                           THALWEG_BENCH_BIN=str(self.fake) if binary is None else binary)
        output = self.folder / "out" / "bench.json"
        done = subprocess.run(
            [sys.executable, str(RUN), *cases, "--rounds", "3", "--seconds", "0.3", "--deadline", "3", "--patience", "0",
             "--output", str(output), *arguments],
            env=environment, capture_output=True, text=True, timeout=60)
        self.assertNotIn(str(self.fake), subprocess.run(["ps", "ax"], capture_output=True, text=True).stdout)
        return done, json.loads(output.read_text()) if output.exists() else None

    def test_compares_with_the_fastest_configuration(self):
        done, results = self.run_bench({"ours": {"ms": 50, "peak": 40}, "default": {"ms": 100}, "compile": {"ms": 80, "peak": 70}})
        self.assertEqual(done.returncode, 0, done.stderr)
        (entry,) = results
        self.assertEqual(entry["case"], CASE)
        self.assertEqual(entry["peer"], "pytorch compile")
        self.assertEqual((entry["ours_ms"], entry["peer_ms"], entry["ratio"]), (50, 80, 1.6))
        self.assertEqual((entry["ours_peak_mb"], entry["peer_peak_mb"]), (40, 70))
        self.assertIn("1.600", done.stdout)

    def test_compares_how_both_bear_busy_loops(self):
        for ours, met in ((2, True), (5, False)):
            done, results = self.run_bench({"ours": {"ms": 40, "beside": ours}, "onnxruntime": {"beside": 3}, "openvino": {"beside": 4}},
                                           cases=(BESIDE,))
            self.assertEqual(done.returncode, 0, done.stderr)
            (entry,) = results
            self.assertEqual((entry["peer"], entry["slowdown_met"]), ("onnxruntime", met))
            self.assertAlmostEqual(entry["slowdown"], ours, delta=0.2 * ours)
            self.assertAlmostEqual(entry["peer_slowdown"], 3, delta=0.6)
            self.assertAlmostEqual(entry["beside_ms"]["openvino"]["beside"], 400, delta=80)
            self.assertIn("met" if met else "MISSED", done.stdout)
            self.assertNotIn("while True: pass", subprocess.run(["ps", "ax"], capture_output=True, text=True).stdout)

    def test_skips_a_configuration_that_fails(self):
        for failure in ({"crash": True}, {"error": "unsupported"}, {"hang": True}, {"garbage": True}):
            with self.subTest(failure):
                done, results = self.run_bench({"compile": failure})
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertEqual(results[0]["peer"], "pytorch default")
                self.assertIn("pytorch compile", done.stderr)

    def test_says_when_every_configuration_failed(self):
        done, results = self.run_bench({"default": {"crash": True}, "compile": {"crash": True}})
        self.assertEqual((done.returncode, results), (1, []))
        self.assertIn("status 7", done.stderr)
        self.assertIn("more or less", done.stderr)

    def test_fails_when_the_losses_differ(self):
        for loss in (2.1, float("nan")):
            done, results = self.run_bench({"ours": {"loss": loss}})
            self.assertEqual((done.returncode, results), (1, []))
            self.assertIn("do not compute the same thing", done.stdout)

    def test_fails_when_our_worker_does_and_goes_on(self):
        for failure in ({"crash": True}, {"hang": True}, {"error": "no such case"}):
            with self.subTest(failure):
                done, results = self.run_bench({"ours": failure}, cases=(CASE, "train_ncf_b2048"))
                self.assertEqual((done.returncode, results), (1, []))
                self.assertEqual(done.stdout.count("FAILED"), 2)

    def test_names_what_is_missing(self):
        done, results = self.run_bench({}, binary="")
        self.assertEqual((done.returncode, results), (2, None))
        self.assertIn("make bench", done.stderr)
        done, _ = self.run_bench({}, cases=("train_nothing",))
        self.assertEqual(done.returncode, 2)
        self.assertIn(CASE, done.stderr)

    def test_judges_what_synchronisation_adds(self):
        for ours, met, word in ((5.0, True, "met"), (5.5, False, "missed"), (-1.0, True, "met")):
            with self.subTest(ours=ours):
                done, results = self.run_bench({"ours": {"sync": ours}, "default": {"sync": 10.0}, "channels_last": {"ms": 200}},
                                               cases=(TOGETHER,))
                self.assertEqual(done.returncode, 0, done.stderr)
                (entry,) = results
                self.assertEqual((entry["ours_sync_ms"], entry["peer_sync_ms"]), (ours, 10.0))
                self.assertEqual((entry["sync_target"], entry["sync_met"]), (0.5, met))
                self.assertIn(f"adds {ours:.1f} ms to a step, 10.0 ms with the peer; target at most 0.5 times the peer's: {word}",
                              done.stdout)

    def test_judges_no_synchronisation_where_one_process_trains(self):
        done, results = self.run_bench({})
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotIn("sync_met", results[0])
        self.assertNotIn("synchronisation", done.stdout)

    def test_compares_with_a_figure_on_record(self):
        done, results = self.run_bench({"thalweg": {"ms": 2, "loss": 0.1}}, cases=(RECORDED,))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual((results[0]["ours_ms"], results[0]["peer_ms"], results[0]["ratio"]), (2, 30, 15))
        done, results = self.run_bench({"thalweg": {"loss": 2.0}}, cases=(RECORDED,))
        self.assertEqual((done.returncode, results), (1, []))
        self.assertIn("the loss ends at", done.stdout)

    def test_judges_the_share_of_waiting(self):
        for wait, share, verdict in ((21, 0.01, ": met"), (5, 0, ": met"), (40, 0.2, ": MISSED")):
            done, results = self.run_bench({"ours": {"ms": 95, "wait": wait}}, cases=(LIMITED,))
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertAlmostEqual(results[0]["wait_share"], share, delta=0.01)
            self.assertIn(verdict, done.stdout)
        done, results = self.run_bench({}, cases=(LIMITED,))
        self.assertEqual((done.returncode, results), (1, []))
        self.assertIn("malformed answer", done.stdout)

    def test_peer_only_needs_no_worker_of_ours(self):
        done, results = self.run_bench({}, "--peer-only", binary="")
        self.assertEqual((done.returncode, results), (0, None))
        self.assertIn("pytorch", done.stdout)


if __name__ == "__main__":
    unittest.main()
