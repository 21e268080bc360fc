#!/usr/bin/env python3
"""Runs the ONNX backend suite through Thalweg's C interface, each case in a process that may crash.

Prints how many cases passed, were refused with an error, gave a wrong answer, or crashed, and fails if any was wrong
or crashed, or if a case of expected.txt no longer passes. `--update` writes the cases that pass to that file.
"""

import argparse
import collections
import json
import pathlib
import subprocess
import sys

EXPECTED = pathlib.Path(__file__).with_name("expected.txt")
CASE_SECONDS = 120


def close(actual, expected, rtol, atol):
    """Element by element. Types that NumPy does not know are compared as f32, and bf16 with the tolerance it needs."""
    import numpy as np
    if expected.dtype.kind in "OUS":
        as_text = np.vectorize(lambda text: text.decode() if isinstance(text, bytes) else str(text), otypes=[object])
        return np.asarray(actual == as_text(expected)) if expected.size else np.ones(expected.shape, bool)
    if expected.dtype.kind not in "fiub":
        rtol = max(rtol, 2**-6) if expected.dtype.name == "bfloat16" else 0
        actual, expected = actual.astype(np.float32), expected.astype(np.float32)
    with np.errstate(all="ignore"):
        return np.isclose(actual, expected, rtol=rtol, atol=atol, equal_nan=True)


def difference(actual, expected, rtol, atol):
    """What is wrong with an output, or None."""
    import numpy as np
    if isinstance(actual, list) or isinstance(expected, list):
        if not isinstance(actual, list) or not isinstance(expected, list) or len(actual) != len(expected):
            return "not a sequence of as many"
        problems = [difference(a, e, rtol, atol) for a, e in zip(actual, expected)]
        return next((f"item {i}: {p}" for i, p in enumerate(problems) if p), None)
    if expected is None or actual is None:
        return None if expected is actual else "a value where there is none, or none where there is one"
    expected = np.asarray(expected)
    same = actual.dtype == expected.dtype or actual.dtype.kind == "O" and expected.dtype.kind in "US"
    if not same or actual.shape != expected.shape:
        return f"{actual.dtype}{list(actual.shape)} instead of {expected.dtype}{list(expected.shape)}"
    right = close(actual, expected, rtol, atol)
    if right.all():
        return None
    first = tuple(int(i[0]) for i in np.nonzero(~right)) if right.ndim else ()
    return f"{(~right).sum()} of {right.size} differ, first {list(first)}: {actual[first]} instead of {expected[first]}"


def random_difference(name, inputs, actual, expected):
    """What is wrong with a draw. The suite has NumPy's draws, which nobody else's numbers can equal: what holds of every
    draw is checked in their place."""
    import numpy as np
    for a, e in zip(actual, expected, strict=True):
        if a.dtype != e.dtype or a.shape != e.shape:
            return f"{a.dtype}{list(a.shape)} instead of {e.dtype}{list(e.shape)}"
    if "bernoulli" in name:
        return None if np.isin(actual[0], (0, 1)).all() and 0 < actual[0].mean() < 1 else "not zeros and ones"
    x, ratio = inputs[0], float(inputs[1]) if len(inputs) > 1 else 0.5
    kept = actual[0] != 0 if len(actual) == 1 else actual[1]
    right = np.allclose(actual[0], np.where(kept, x / (1 - ratio), 0), rtol=1e-5)
    return None if right and 0 < kept.mean() < 1 else "neither zero nor scaled"


def is_random(name):
    return "bernoulli" in name or name.removesuffix("_cpu") in (
        "test_training_dropout", "test_training_dropout_default", "test_training_dropout_default_mask",
        "test_training_dropout_mask")


def run_case(library, case):
    """(status, reason)"""
    import cases
    from thalweg_c import Refused
    try:
        model, sets = cases.load(case)
        loaded = library.load(model.SerializeToString())
        for inputs, outputs in sets:
            results = loaded.run(inputs)
            if is_random(case.name):
                problems = [random_difference(case.name, inputs, results, outputs)]
            else:
                # The suite's own transforms are no nearer to the exact result than f32 rounds their largest terms.
                rounding = 2**-22 * max((abs(x).max() for x in outputs), default=0) if "_dft" in case.name else 0
                problems = [difference(actual, expected, case.rtol, max(case.atol, rounding))
                            for actual, expected in zip(results, outputs, strict=True)]
            if any(problems):
                return "wrong", next(problem for problem in problems if problem)
    except Refused as error:
        return "refused", str(error)
    return "passed", ""


def work(path):
    """Takes names of cases from the standard input, a line each, and answers each with a line of JSON."""
    import cases
    from thalweg_c import Library
    library, known = Library(path), cases.all_cases()
    print(json.dumps(sorted(known)), flush=True)
    for name in map(str.strip, sys.stdin):
        print(json.dumps(run_case(library, known[name])), flush=True)


class Worker:
    def __init__(self, library):
        self.process = subprocess.Popen([sys.executable, __file__, "--worker", library], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)
        self.names = json.loads(self.process.stdout.readline())

    def run(self, name):
        """The answer, or None if the process died."""
        import threading
        watchdog = threading.Timer(CASE_SECONDS, self.process.kill)
        watchdog.start()
        try:
            self.process.stdin.write(name + "\n")
            self.process.stdin.flush()
            line = self.process.stdout.readline()
        except BrokenPipeError:
            line = ""
        finally:
            watchdog.cancel()
        return json.loads(line) if line else None

    def close(self):
        self.process.stdin.close()
        self.process.wait(timeout=60)


def run_all(library, wanted):
    """Name -> (status, reason)"""
    worker = Worker(library)
    results = {}
    for name in worker.names:
        if wanted and not any(part in name for part in wanted):
            continue
        answer = worker.run(name)
        if answer is None:
            code = worker.process.wait(timeout=60)
            answer = ["crashed", f"the process ended with {code}"]
            worker = Worker(library)
        results[name] = answer
    worker.close()
    return results


def report(results, verbose):
    for status in ("refused", "wrong", "crashed"):
        for name, (actual, reason) in results.items():
            if actual == status and (verbose or status != "refused"):
                print(f"{status} {name}: {reason}")
    counts = collections.Counter(status for status, _ in results.values())
    print(", ".join(f"{status} {counts[status]}" for status in ("passed", "refused", "wrong", "crashed")))
    return counts


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("library", help="path of libthalweg.so")
    parser.add_argument("parts", nargs="*", help="run only cases whose names contain one of these")
    parser.add_argument("--update", action="store_true", help="write the cases that pass to expected.txt")
    parser.add_argument("--verbose", action="store_true", help="say why each refused case was refused")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        work(options.library)
        return 0
    results = run_all(options.library, options.parts)
    counts = report(results, options.verbose)
    passed = sorted(name for name, (status, _) in results.items() if status == "passed")
    if options.update:
        EXPECTED.write_text("".join(name + "\n" for name in passed))
    expected = set(EXPECTED.read_text().split()) & set(results) if EXPECTED.exists() else set()
    lost = sorted(expected - set(passed))
    for name in lost:
        print(f"lost: {name} used to pass; now: {': '.join(results[name])}")
    return 1 if lost or counts["wrong"] or counts["crashed"] else 0


if __name__ == "__main__":
    sys.exit(main())
