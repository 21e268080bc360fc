#!/usr/bin/env python3
"""check_simd_symbols.py <namespace> <object>...: fails if an object has a weak symbol outside of its namespace.

Objects compiled for AVX2 or AVX-512 must not hold inline functions or template instances that others could hold as
well: the linker keeps one copy of each, and if that copy has wide instructions, an older CPU dies in it.
"""

import subprocess
import sys

# Pointers to the exception handler's personality routine: data, the same in every object.
_HARMLESS = ("DW.ref.",)


def main():
    namespace, objects = sys.argv[1], sys.argv[2:]
    mangled = f"{len(namespace)}{namespace}"
    listing = subprocess.run(
        ["nm", "--defined-only", "--print-file-name", *objects], check=True, capture_output=True, text=True
    ).stdout
    failed = False
    for line in listing.splitlines():
        kind, name = line.split()[-2:]
        if kind in "VWuvw" and mangled not in name and not name.startswith(_HARMLESS):
            failed = True
            readable = subprocess.run(["c++filt", name], capture_output=True, text=True, check=True).stdout.strip()
            source = line.split(":")[0].rsplit("/", 1)[-1]
            print(f"{source}: {readable} is compiled for {namespace} but other code may call this copy; "
                  "use a static helper instead")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
