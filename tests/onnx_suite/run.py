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


def difference(actual, expected, rtol, atol):
    """What is wrong with an output, or None."""
    import numpy as np
    if expected is None or actual is None:
        return "not a tensor"
    if actual.dtype != expected.dtype or actual.shape != expected.shape:
        return f"{actual.dtype}{list(actual.shape)} instead of {expected.dtype}{list(expected.shape)}"
    if actual.dtype.name == "bfloat16":
        rtol = max(rtol, 2**-6)
        actual, expected = actual.astype(np.float32), expected.astype(np.float32)
    with np.errstate(all="ignore"):
        close = np.isclose(actual, expected, rtol=rtol, atol=atol, equal_nan=True)
    if close.all():
        return None
    first = tuple(int(i[0]) for i in np.nonzero(~close)) if close.ndim else ()
    return f"{(~close).sum()} of {close.size} differ, first {list(first)}: {actual[first]} instead of {expected[first]}"


def run_case(library, case):
    """(status, reason)"""
    import cases
    from thalweg_c import Refused
    try:
        model, sets = cases.load(case)
        loaded = library.load(model.SerializeToString())
        for inputs, outputs in sets:
            for actual, expected in zip(loaded.run(inputs), outputs, strict=True):
                problem = difference(actual, expected, case.rtol, case.atol)
                if problem:
                    return "wrong", problem
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
