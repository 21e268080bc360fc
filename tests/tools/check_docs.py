#!/usr/bin/env python3
"""Checks that the files which the documentation names are in the repository: paths in backticks and links in *.md.

A path may hold * (something must match it). One with <name> in it is a pattern for the reader and is left alone, and
so is the change log, which tells of files as they were.
"""

import fnmatch
import posixpath
import re
import sys

from tracked import ROOT, report, tracked_files

_PATH = re.compile(r"`((?:src|include|tests|bench|examples|docs|scripts)/[^`\s]*)`")
_LINK = re.compile(r"\]\(([^)\s]+)\)")


def exists(known, path):
    path = re.sub(r":\d+$", "", posixpath.normpath(path))
    return path in known or ("*" in path and bool(fnmatch.filter(known, path)))


def check(path, text, known):
    """The problems of one document."""
    problems = []
    for line, content in enumerate(text.splitlines(), 1):
        for named in _PATH.findall(content):
            if "<" not in named and not exists(known, named):
                problems.append(f"{path}:{line}: `{named}` does not exist")
        for target in _LINK.findall(content):
            target = target.split("#")[0]
            if target and not re.match(r"[a-z]+:", target) and not exists(known, str(path.parent / target)):
                problems.append(f"{path}:{line}: the link to {target} leads nowhere")
    return problems


def main():
    files = tracked_files()
    known = {str(path) for path in files}
    for path in files:
        known.update(map(str, path.parents))
    problems = []
    for path in files:
        if path.suffix == ".md" and path.name != "CHANGELOG.md":
            problems += check(path, (ROOT / path).read_text(), known)
    return report("paths in documents", problems)


if __name__ == "__main__":
    sys.exit(main())
