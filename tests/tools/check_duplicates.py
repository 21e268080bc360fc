#!/usr/bin/env python3
"""Checks that no two places in src/ share more than 20 lines of the same shape: equal but for names, numbers and texts.

Comments and empty lines do not count. A table, whose rows look alike by nature, is no repetition: a run counts only if
it has enough lines that differ from each other. `check_duplicates.py N` looks for runs of more than N lines.
"""

import re
import sys

from tracked import ROOT, report, tracked_files

MOST = 20
# Of the lines of a run, how many must differ from each other in shape for it to be code and not a table.
_VARIETY = 0.6
_KEYWORDS = set(
    "auto bool break case catch char class const constexpr continue default delete do double else enum explicit extern "
    "false float for friend if inline int int64_t long namespace new nullptr operator override private protected public "
    "return size_t static std struct switch template this throw true try typename uint64_t using virtual void while "
    "#include #define #pragma #if #endif".split()
)
_TOKEN = re.compile(r'"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])\'|#?[A-Za-z_]\w*|\d[\w.\']*|\S')
_COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)


def shape_of(line):
    """The line with every name, number and text replaced by its kind."""
    shape = []
    for token in _TOKEN.findall(line):
        if token in _KEYWORDS:
            shape.append(token)
        elif token[0] in "\"'":
            shape.append("S")
        elif token[0].isdigit():
            shape.append("1")
        else:
            shape.append("N" if token[0].isalpha() or token[0] in "_#" else token)
    return " ".join(shape)


def shapes_of(text):
    """(line number, shape) of every line that counts."""
    text = _COMMENT.sub(lambda match: "\n" * match.group().count("\n"), text)
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip() and not line.startswith("#include"):
            yield number, shape_of(line)


def repetitions(files, most):
    """Pairs (path, first, last, other path, first, last) of runs of more than `most` lines, the longest of each pair of
    places; `files` maps paths to texts."""
    lines = {path: list(shapes_of(text)) for path, text in files.items()}
    window = most + 1
    seen = {}
    found = []
    for path, listed in lines.items():
        covered = -1
        for start in range(len(listed) - window + 1):
            key = tuple(shape for _, shape in listed[start : start + window])
            place = seen.setdefault(key, (path, start))
            if place == (path, start) or start <= covered or len(set(key)) < _VARIETY * window:
                continue
            other, begin = place
            if other == path and start < begin + window:
                continue
            length = window
            while (
                start + length < len(listed)
                and begin + length < len(lines[other])
                and listed[start + length][1] == lines[other][begin + length][1]
            ):
                length += 1
            covered = start + length - window
            found.append(
                (other, lines[other][begin][0], lines[other][begin + length - 1][0],
                 path, listed[start][0], listed[start + length - 1][0])
            )  # fmt: skip
    return found


def main():
    most = int(sys.argv[1]) if len(sys.argv) > 1 else MOST
    files = {
        path: (ROOT / path).read_text()
        for path in tracked_files()
        if path.parts[0] in ("src", "include", "python") and path.suffix in (".cc", ".h")
    }
    problems = [
        f"{a}:{a_first}-{a_last} and {b}:{b_first}-{b_last} have the same shape; say it once"
        for a, a_first, a_last, b, b_first, b_last in repetitions(files, most)
    ]
    return report("duplicates", problems)


if __name__ == "__main__":
    sys.exit(main())
