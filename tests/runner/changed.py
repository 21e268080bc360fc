"""Which entries a change asks for: those of the folders that it touches, and of the parts that use a header of its."""

import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "tools"))
from check_includes import MAY_USE, part_of  # noqa: E402

_INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)


def changed_files(base):
    """Paths that differ from the commit where this branch left `base`, with what is not committed or not tracked."""
    def git(*arguments):
        return subprocess.run(["git", "-C", str(ROOT), *arguments], check=True, capture_output=True, text=True).stdout.split("\0")
    start = git("merge-base", _existing(base), "HEAD")[0].strip()
    names = git("diff", "--name-only", "-z", start) + git("ls-files", "--others", "--exclude-standard", "-z")
    return sorted({pathlib.PurePosixPath(name) for name in names if name})


def _existing(branch):
    """The branch, or that of the remote repository where there is none of this name here."""
    here = subprocess.run(["git", "-C", str(ROOT), "rev-parse", "-q", "--verify", branch], capture_output=True, check=False)
    return branch if here.returncode == 0 else f"origin/{branch}"


def parts_to_test(paths):
    """The parts whose tests a change of these files asks for."""
    parts = set()
    for path in paths:
        if path.parts[0] == "tests" and len(path.parts) > 2:
            parts.add(path.parts[1])
        elif path.parts[0] in ("src", "include"):
            parts.add(part_of(path))
            if path.suffix == ".h":
                parts |= _users(path)
        elif path.parts[0] in ("python", "jvm", "examples"):
            parts.add(path.parts[0])
    return {part for part in parts if part}


def _users(header):
    """The parts that include a header themselves; a table of the parts says which may."""
    own = part_of(header)
    spelled = str(header.relative_to(header.parts[0]))
    users = set()
    for part in (part for part, used in MAY_USE.items() if own in used):
        files = (ROOT / "src" / part).rglob("*.[ch]*")
        if any(spelled in _INCLUDE.findall(path.read_text()) for path in files if path.suffix in (".h", ".cc")):
            users.add(part)
    return users


def entries_to_run(entries, paths):
    """The entries of those parts, the quick ones, and those of Spark's tests that changed themselves."""
    parts = parts_to_test(paths)
    spark_files = {path.stem.removeprefix("test_") for path in paths if path.parts[:2] == ("tests", "spark")}
    chosen = []
    for entry in entries:
        if "spark" in entry.labels:
            wanted = "jvm" in parts or entry.name.removeprefix("spark_").removesuffix("_test") in spark_files
        else:
            wanted = "quick" in entry.labels or any(f"part:{part}" in entry.labels for part in parts)
        if wanted:
            chosen.append(entry)
    return chosen
