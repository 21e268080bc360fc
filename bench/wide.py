#!/usr/bin/env python3
"""Runs networks that no optimisation was made for with Thalweg, ONNX Runtime and OpenVINO in turns, and prints how Thalweg
compares with the faster of the two. bench/wide_networks.py lists them; scripts/setup-wide fetches them.

For each network each engine gets a process of its own with an empty cache folder: its first call is timed from before the
engine is imported to the first answer, and the answers are compared with ONNX Runtime's. Then the engines run in turns, all
others stopped; a time is the median over rounds of the median of a round's steps. Peak memory is the process's VmHWM.

Every result is kept in build/wide/ and not measured again unless --again; what exceeds the time (--minutes) is left for the
next run. Exit status: 0; 1 when an answer is wrong or a network fails with Thalweg; 2 for a usage or set-up error.
"""

import argparse
import json
import math
import os
import pathlib
import statistics
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent
sys.path.insert(0, str(HERE))

from run import Worker, WorkerError, log  # noqa: E402
from wide_networks import NETWORKS, batches  # noqa: E402

OURS, REFERENCE = "thalweg", "onnxruntime"
ENGINES = (OURS, REFERENCE, "openvino")
TOLERANCE = {"f32": 2e-3, "bf16": 0.1}  # of the largest element of an output


def difference(ours, theirs):
    """The largest difference of two answers, relative to the largest element of each output, or to 1e-4 if that is less:
    of probabilities that are all next to nothing, float32 leaves no digits to compare."""
    import numpy

    worst = 0.0
    with numpy.load(ours) as a, numpy.load(theirs) as b:
        if len(a.files) != len(b.files):
            return math.inf
        for name in a.files:
            left, right = a[name].astype("float64"), b[name].astype("float64")
            if left.shape != right.shape:
                return math.inf
            if right.size == 0 or numpy.array_equal(left, right, equal_nan=True):
                continue
            worst = max(worst, float(numpy.abs(left - right).max() / max(numpy.abs(right).max(), 1e-4)))
    return math.inf if math.isnan(worst) else worst


class Bench:
    def __init__(self, options):
        self.options = options
        deps = pathlib.Path(os.environ.get("THALWEG_DEPS") or pathlib.Path.home() / ".cache" / "thalweg")
        self.nets = deps / "wide" / "nets"
        self.python = os.environ.get("THALWEG_BENCH_PYTHON") or str(deps / "bench-venv" / "bin" / "python")
        if not self.nets.is_dir():
            raise SystemExit(f"wide: no networks in {self.nets}; run scripts/setup-wide, or `make bench-wide`")

    def start(self, engine, name, batch, folder):
        outputs = folder / f"{engine}.npz"
        command = ["env", f"THALWEG_CACHE={folder}", self.python, str(HERE / "wide_worker.py"), "--case", name, "--config",
                   engine, "--nets", str(self.nets), "--outputs", str(outputs), "--batch", str(batch), "--threads",
                   str(self.options.threads), "--precision", self.options.precision]
        return Worker(f"{name} with {engine}", command, self.options.deadline)

    def measure(self, name, batch):
        """-> what is kept of one network."""
        result = {"network": name, "batch": batch, "precision": self.options.precision, "threads": self.options.threads,
                  "engines": {}}
        workers = {}
        with tempfile.TemporaryDirectory(prefix="thalweg-wide-") as scratch:
            folder = pathlib.Path(scratch)
            try:
                for engine in ENGINES:
                    entry = result["engines"][engine] = {}
                    try:
                        workers[engine] = self.start(engine, name, batch, folder)
                    except WorkerError as error:
                        entry["error"] = str(error)[:400]
                        continue
                    entry["first_ms"] = workers[engine].hello["losses"][0]
                    entry["version"] = workers[engine].hello["version"]
                if OURS in workers and REFERENCE in workers:
                    result["difference"] = difference(folder / f"{OURS}.npz", folder / f"{REFERENCE}.npz")
                self.take_turns(workers, result["engines"])
            finally:
                for worker in workers.values():
                    worker.close()
        return result

    def take_turns(self, workers, entries):
        rounds = {engine: [] for engine in workers}
        for number in range(self.options.rounds):
            order = list(workers) if number % 2 == 0 else list(workers)[::-1]
            for engine in order:
                # A few steps to warm up and to see how many fit.
                ms, _, _ = workers[engine].run(3, self.options.deadline)
                step = max(statistics.median(ms), 0.01)
                in_one = max(1, round(3.0 / step))  # steps of small networks are several calls
                steps = int(min(max(5, self.options.seconds * 1e3 / (step * in_one)), 2000))
                ms, _, peak = workers[engine].run(steps, self.options.deadline)
                rounds[engine].append(statistics.median(ms))
                entries[engine]["peak_mb"] = peak
                entries[engine]["others_cores"] = round(workers[engine].others_cores, 2)
        for engine, medians in rounds.items():
            entries[engine]["ms"] = statistics.median(medians)
            entries[engine]["rounds_ms"] = medians


def ratio(result, key="ms", better=min):
    """The better peer's figure over ours; None where one is missing."""
    peers = [entry[key] for engine, entry in result["engines"].items() if engine != OURS and key in entry]
    ours = result["engines"][OURS].get(key)
    return better(peers) / ours if peers and ours else None


def describe(result):
    engines = result["engines"]

    def numbers(key, form):
        return " ".join(format(engines[e][key], form) if key in engines[e] else "-".rjust(len(format(0.0, form))) for e in ENGINES)

    quotient = ratio(result)
    fault = "  " + engines[OURS]["error"].splitlines()[0][:60] if "error" in engines[OURS] else ""
    wrong = "  WRONG" if result.get("difference", 0.0) > TOLERANCE[result["precision"]] else ""
    return (f"{result['network'] + ' b' + str(result['batch']):24} {numbers('ms', '9.3f')}  {quotient or math.nan:5.2f}   "
            f"{numbers('first_ms', '6.0f')}   {numbers('peak_mb', '5.0f')}   {result.get('difference', math.nan):.0e}{wrong}{fault}")


def print_table(results):
    print(f"{'':24} {'ms: ours, onnxrt, openvino':>29}  ratio   {'first call, ms':>20}   {'peak, MB':>17}   difference")
    for result in results:
        print(describe(result))
    for batch in sorted({result["batch"] for result in results}):
        quotients = {r["network"]: ratio(r) for r in results if r["batch"] == batch and ratio(r)}
        if not quotients:
            continue
        mean = math.exp(statistics.mean(map(math.log, quotients.values())))
        worst = sorted(quotients, key=quotients.get)[:5]
        print(f"batch {batch}: geometric mean {mean:.3f} of {len(quotients)}; worst: "
              + ", ".join(f"{name} {quotients[name]:.2f}" for name in worst))
        first = [ratio(r, "first_ms") for r in results if r["batch"] == batch and ratio(r, "first_ms")]
        peak = [ratio(r, "peak_mb") for r in results if r["batch"] == batch and ratio(r, "peak_mb")]
        print(f"         first call {math.exp(statistics.mean(map(math.log, first))):.2f}, "
              f"memory {math.exp(statistics.mean(map(math.log, peak))):.2f} (the better peer's over ours)")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", metavar="NAME", help="parts of the names of networks")
    parser.add_argument("--batches", type=int, nargs="+", default=[1, 8])
    parser.add_argument("--precision", default="f32", choices=TOLERANCE)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=1.0, help="of each engine in each round")
    parser.add_argument("--deadline", type=float, default=180.0, help="seconds that an engine may take for one answer")
    parser.add_argument("--minutes", type=float, default=150.0, help="after which no further network begins")
    parser.add_argument("--again", action="store_true", help="measure what was measured before, too")
    parser.add_argument("--results", type=pathlib.Path, default=ROOT / "build" / "wide")
    options = parser.parse_args()
    bench = Bench(options)
    options.results.mkdir(parents=True, exist_ok=True)
    end = time.monotonic() + options.minutes * 60
    names = [n for n in NETWORKS if not options.only or any(part in n for part in options.only)]
    results = []
    for name, batch in [(n, b) for b in options.batches for n in names if b in batches(n)]:
        path = options.results / f"{name}.{options.precision}.b{batch}.json"
        if path.exists() and not options.again:
            results.append(json.loads(path.read_text()))
            continue
        if time.monotonic() > end:
            log("the time is up; the rest is for the next run")
            break
        results.append(bench.measure(name, batch))
        path.write_text(json.dumps(results[-1], indent=1) + "\n")
        log(describe(results[-1]))
    print_table(results)
    failed = [r for r in results if "error" in r["engines"][OURS] or r.get("difference", 0.0) > TOLERANCE[options.precision]]
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
