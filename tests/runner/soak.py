"""Runs concurrent entries many times beside busy loops and each other, and counts the failures of each case."""

import collections
import concurrent.futures
import subprocess
import sys
import time

from .ctest import end_all, run_alone
from .results import FAILED, cases_of

_LOOPS = 4
"""Twice as many as the smallest machine has processors: each test gets a third of what it is used to."""


def soak(entries, times, jobs):
    """Runs `jobs` entries at once; prints a line for each run and a table at the end; gives the exit status."""
    failures = collections.Counter()
    examples = {}
    runs = 0
    loops = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(_LOOPS)]
    begin = time.monotonic()
    try:
        for number, run in _rounds(entries, times, jobs):
            runs += 1
            bad = [case for case in cases_of(run) if case.status == FAILED]
            for case in bad:
                failures[case.title] += 1
                examples.setdefault(case.title, case.text)
            print(f"{number}/{times} {run.entry.name}: {run.status} in {run.seconds:.0f} s" +
                  "".join(f"\n    {case.title} ({case.place})" for case in bad), flush=True)
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()
    print(f"{runs} runs of {len(entries)} entries beside {_LOOPS} busy loops, in {(time.monotonic() - begin) / 60:.0f} minutes")
    for title, count in failures.most_common():
        print(f"{count:4} of {times}: {title}")
        print("".join(f"        {line}\n" for line in examples[title].splitlines()[:12]), end="")
    print(f"{runs - sum(failures.values())} passed, {sum(failures.values())} failed")
    return 1 if failures else 0


def _rounds(entries, times, jobs):
    """Gives (round, run) as runs end. An entry never runs beside itself: both would write the same results."""
    pool = concurrent.futures.ThreadPoolExecutor(jobs)
    try:
        for number in range(1, times + 1):
            for run in concurrent.futures.as_completed([pool.submit(run_alone, entry) for entry in entries]):
                yield number, run.result()
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
        end_all()
