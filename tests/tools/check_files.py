#!/usr/bin/env python3
"""Checks every text file: no path of somebody's machine, no file too long to read, and plain line ends."""

import re
import sys

from tracked import ROOT, report, tracked_files

MAX_LINES = 600
_SOURCES = {".cc", ".h", ".py", ".sh", ".cmake", ".md", ".java", ".scala"}
_ENDLESS = {"CHANGELOG.md"}  # grows by nature
_MACHINE_PATH = re.compile(r"(?<![\w.$}>-])/(?:root|work|home/\w+)/")


def check(path, text):
    """The problems of one file."""
    problems = []
    lines = text.splitlines()
    if path.suffix in _SOURCES and path.name not in _ENDLESS and len(lines) > MAX_LINES:
        problems.append(f"{path}: {len(lines)} lines; split it (at most {MAX_LINES})")
    for number, line in enumerate(lines, 1):
        if _MACHINE_PATH.search(line):
            problems.append(f"{path}:{number}: a path of one machine: {line.strip()[:80]}")
        if path.suffix in _SOURCES and line != line.rstrip():
            problems.append(f"{path}:{number}: spaces (or a carriage return) at the end of the line")
    if text and not text.endswith("\n") and path.suffix in _SOURCES:
        problems.append(f"{path}: no newline at the end")
    return problems


def main():
    problems = []
    for path in tracked_files():
        data = (ROOT / path).read_bytes()
        if b"\0" in data[:8192] or (ROOT / path).resolve() == (ROOT / "tests/tools/check_files.py"):
            continue
        problems += check(path, data.decode("utf-8", errors="replace"))
    return report("files", problems)


if __name__ == "__main__":
    sys.exit(main())
