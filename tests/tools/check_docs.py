#!/usr/bin/env python3
"""Checks that the files which the documentation names are in the repository (paths in backticks and links in *.md), and
that each whole C++ program in it is one of the examples, which the tests run.

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
_PROGRAM = re.compile(r"^```cpp\n(#include.*?^int main\(.*?)^```$", re.MULTILINE | re.DOTALL)


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


def check_programs(path, text, examples):
    """An example begins with comments that a document leaves out."""
    return [
        f"{path}:{text[:program.start()].count(chr(10)) + 1}: this program is the end of no file in examples/"
        for program in _PROGRAM.finditer(text)
        if not any(example.endswith(program.group(1)) for example in examples)
    ]


def main():
    files = tracked_files()
    examples = [(ROOT / path).read_text() for path in files if path.match("examples/*.cc")]
    known = {str(path) for path in files}
    for path in files:
        known.update(map(str, path.parents))
    problems = []
    for path in files:
        if path.suffix == ".md" and path.name != "CHANGELOG.md":
            text = (ROOT / path).read_text()
            problems += check(path, text, known) + check_programs(path, text, examples)
    return report("documents", problems)


if __name__ == "__main__":
    sys.exit(main())
