#!/usr/bin/env python3
"""Checks that the files which the documentation names exist: paths in backticks and relative links in *.md.

A path may hold * (something must match it). One with <name> in it is a pattern for the reader and is left alone, and
so is the change log, which tells of files as they were.
"""

import re
import sys

from tracked import ROOT, report, tracked_files

_PATH = re.compile(r"`((?:src|include|tests|bench|examples|docs|scripts)/[^`\s]*)`")
_LINK = re.compile(r"\]\(([^)\s]+)\)")


def exists(base, path):
    path = re.sub(r":\d+$", "", path)
    if "*" in path:
        return any(base.glob(path.rstrip("/")))
    return (base / path).exists()


def check(path, text):
    """The problems of one document."""
    problems = []
    for line, content in enumerate(text.splitlines(), 1):
        for named in _PATH.findall(content):
            if "<" not in named and not exists(ROOT, named):
                problems.append(f"{path}:{line}: `{named}` does not exist")
        for target in _LINK.findall(content):
            target = target.split("#")[0]
            if target and not re.match(r"[a-z]+:", target) and not exists((ROOT / path).parent, target):
                problems.append(f"{path}:{line}: the link to {target} leads nowhere")
    return problems


def main():
    problems = []
    for path in tracked_files():
        if path.suffix == ".md" and path.name != "CHANGELOG.md":
            problems += check(path, (ROOT / path).read_text())
    return report("paths in documents", problems)


if __name__ == "__main__":
    sys.exit(main())
