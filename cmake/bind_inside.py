#!/usr/bin/env python3
"""bind_inside.py LIBRARY: binds references within a shared library when it is built, in place of when it is loaded.

oneDNN's library exports all of its 80,000 names, and refers to itself by them: the loader looks each of them up, in every
process, which takes as long as many a network's first answer and keeps 13 MB of tables in memory. Here every reference to a
name that the library itself defines becomes an offset within the library, as a linker writes it with -Bsymbolic: nobody means
to replace them by those of another library. Names of which a process must have only one stay. The file keeps its size."""

import mmap
import struct
import sys

PT_LOAD, PT_DYNAMIC = 1, 2
DT_PLTRELSZ, DT_SYMTAB, DT_RELA, DT_RELASZ, DT_JMPREL = 2, 6, 7, 8, 23
R_64, R_GLOB_DAT, R_JUMP_SLOT, R_RELATIVE = 1, 6, 7, 8
STT_OBJECT, STT_FUNC = 1, 2
STB_GLOBAL, STB_WEAK = 1, 2
RELA = struct.Struct("<QQq")  # offset, symbol << 32 | kind, addend
SYMBOL = struct.Struct("<IBBHQQ")  # name, binding << 4 | type, other, section, value, size


class Library:
    def __init__(self, data):
        self.data = data
        if data[:6] != b"\x7fELF\x02\x01" or struct.unpack_from("<H", data, 18)[0] != 62:
            raise SystemExit("bind_inside: not a library for x86-64")
        at, = struct.unpack_from("<Q", data, 32)
        size, count = struct.unpack_from("<HH", data, 54)
        headers = [struct.unpack_from("<IIQQQQ", data, at + i * size) for i in range(count)]
        self.loads = [(address, offset, length) for kind, _, offset, address, _, length in headers if kind == PT_LOAD]
        dynamic = next((offset, length) for kind, _, offset, _, _, length in headers if kind == PT_DYNAMIC)
        entries = struct.iter_unpack("<qQ", data[dynamic[0]:sum(dynamic)])
        self.dynamic = {tag: value for tag, value in entries if tag}

    def place(self, address):
        for begin, offset, length in self.loads:
            if begin <= address < begin + length:
                return address - begin + offset
        raise SystemExit(f"bind_inside: nothing is loaded to address {address:#x}")

    def address_of(self, symbol):
        """Where the library defines a symbol; None if it does not, or if it shares the symbol with others."""
        _, info, _, section, value, _ = SYMBOL.unpack_from(self.data, self.place(self.dynamic[DT_SYMTAB]) + symbol * SYMBOL.size)
        if section == 0 or info >> 4 not in (STB_GLOBAL, STB_WEAK) or info & 15 not in (STT_OBJECT, STT_FUNC):
            return None
        return value

    def bind(self):
        known = {}
        bound = 0
        for table, size in ((DT_RELA, DT_RELASZ), (DT_JMPREL, DT_PLTRELSZ)):
            if table not in self.dynamic:
                continue
            begin = self.place(self.dynamic[table])
            for at in range(begin, begin + self.dynamic[size], RELA.size):
                offset, info, addend = RELA.unpack_from(self.data, at)
                kind, symbol = info & 0xFFFFFFFF, info >> 32
                if kind not in (R_64, R_GLOB_DAT, R_JUMP_SLOT):
                    continue
                if symbol not in known:
                    known[symbol] = self.address_of(symbol)
                if known[symbol] is not None:
                    RELA.pack_into(self.data, at, offset, R_RELATIVE, known[symbol] + (addend if kind == R_64 else 0))
                    bound += 1
        return bound


def main():
    with open(sys.argv[1], "r+b") as file, mmap.mmap(file.fileno(), 0) as data:
        bound = Library(data).bind()
    print(f"{bound} references bound in {sys.argv[1]}")


if __name__ == "__main__":
    main()
