"""The files that are or could be under version control, which is what the checks in this folder look at."""

import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]


def tracked_files():
    """Paths relative to ROOT: tracked files and new ones that .gitignore does not name, without those that are deleted but
    not yet committed."""
    listing = subprocess.run(
        ["git", "-C", str(ROOT), "ls-files", "-z", "--cached", "--others", "--exclude-standard"], check=True,
        capture_output=True, text=True
    ).stdout
    return [path for path in map(pathlib.PurePosixPath, filter(None, listing.split("\0")))
            if (ROOT / path).is_file()]


def report(check, problems):
    """Prints the problems, one per line, and gives the exit status."""
    for problem in problems:
        print(problem)
    print(f"{check}: {len(problems)} problem(s)" if problems else f"{check}: ok")
    return 1 if problems else 0
