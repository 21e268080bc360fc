"""Runs the tests of a build folder and ends with what failed, what was flaky, what was slow, and one line of counts.

    python3 -m tests.runner --build build/release                the tests of `make test`
    python3 -m tests.runner --build build/release --changed main those that a change against main asks for
    python3 -m tests.runner --build build/release --soak 20      the concurrent ones, many times beside busy loops
"""

import argparse
import os
import pathlib
import re
import sys
import time

from .again import repeat_failed
from .changed import changed_files, entries_to_run
from .ctest import run_all
from .entries import read_entries
from .results import FAILED
from .soak import soak
from .summary import print_summary


def _arguments():
    parser = argparse.ArgumentParser(prog="tests.runner", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, required=True, help="the build folder")
    parser.add_argument("--label", help="only entries with a label that matches this")
    parser.add_argument("--without", default="^long$", help="no entries with a label that matches this (long)")
    parser.add_argument("--name", help="only entries whose name matches this")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="how many run at once (one a processor)")
    parser.add_argument("--changed", metavar="BRANCH", help="only what a change against this branch asks for")
    parser.add_argument("--first", metavar="LABEL", help="run these before the others, and the others only if they pass")
    parser.add_argument("--soak", type=int, metavar="N", help="run each N times beside busy loops")
    return parser.parse_args()


def _selection(options, label=None, without=()):
    """The options as arguments of ctest's. All regular expressions of several -LE would have to match, so there is one."""
    excluded = [pattern for pattern in (options.without, *without) if pattern]
    selection = ["-LE", "|".join(excluded)] if excluded else []
    for pattern in filter(None, (options.label, label)):
        selection += ["-L", pattern]
    if options.name:
        selection += ["-R", options.name]
    return selection


def _run(options, folder, entries):
    """The runs of all entries; those with the label --first come before the others, which do not run if one failed."""
    names = [entry.name for entry in entries]
    chosen = ["-R", "^(" + "|".join(map(re.escape, names)) + ")$"] if options.changed else []
    if not options.first:
        return run_all(folder, entries, _selection(options) + chosen, options.jobs)
    label = f"^{options.first}$"
    first = [entry for entry in entries if options.first in entry.labels]
    runs = run_all(folder, first, _selection(options, label) + chosen, options.jobs) if first else []
    others = [entry for entry in entries if options.first not in entry.labels]
    if any(run.status == FAILED for run in runs):
        print(f"the other {len(others)} entries were not run", flush=True)
        return runs
    return runs + run_all(folder, others, _selection(options, without=[label]) + chosen, options.jobs)


def main():
    options = _arguments()
    folder = options.build.resolve()
    entries = read_entries(folder, _selection(options))
    if options.changed:
        paths = changed_files(options.changed)
        entries = entries_to_run(entries, paths)
        print(f"{len(paths)} changed files ask for: {' '.join(entry.name for entry in entries) or 'no test'}", flush=True)
    if not entries:
        print("no test fits what was asked for")
        return 0 if options.changed else 1
    if options.soak:
        return soak(entries, options.soak, options.jobs)
    begin = time.monotonic()
    cases, flaky = repeat_failed(_run(options, folder, entries))
    return print_summary(cases, flaky, time.monotonic() - begin)


if __name__ == "__main__":
    sys.exit(main())
