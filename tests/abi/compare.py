#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
"""Compare include/tcmu with tcmu-runner's own headers.

clang lists what our headers declare. From that list comes one C program, which
is compiled against our headers and against theirs: it prints each size, offset
and value, and asserts the type of each field and function. Both must compile
and print the same.
"""

import argparse
import dataclasses
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

HEADERS = ["libtcmu.h", "libtcmu_common.h", "libtcmu_log.h", "tcmu-runner.h", "tcmur_device.h"]
# The originals use pthread_t without including its header.
SYSTEM_HEADERS = ["pthread.h", "stddef.h", "stdio.h"]
PROLOGUE = "".join(f"#include <{name}>\n" for name in SYSTEM_HEADERS + HEADERS)
CFLAGS = ["-std=gnu11", "-D_GNU_SOURCE"]


@dataclasses.dataclass
class Field:
    """A member of a struct; path goes through the unions it is in."""

    path: str
    type: str | None  # None: a struct or union without a name


@dataclasses.dataclass
class Declarations:
    """What a set of headers declares, by kind."""

    structs: dict[str, list[Field]]
    constants: list[str]
    functions: dict[str, str]
    macros: list[str]

    def summary(self) -> str:
        """How much of everything, for people."""
        fields = sum(len(members) for members in self.structs.values())
        return (
            f"{len(self.structs)} structs with {fields} fields, "
            f"{len(self.constants) + len(self.macros)} constants, {len(self.functions)} functions"
        )


def include_flags(dirs: list[Path]) -> list[str]:
    """The compiler's options for a header search path."""
    return [f"-I{directory}" for directory in dirs]


def top_level(dirs: list[Path]) -> Iterator[tuple[Path, dict[str, Any]]]:
    """Yield each declaration that the headers bring in, and the file it is in."""
    dump = subprocess.run(
        ["clang", *CFLAGS, *include_flags(dirs), "-fsyntax-only", "-Xclang", "-ast-dump=json",
         "-x", "c", "-"],
        input=PROLOGUE, text=True, stdout=subprocess.PIPE, check=True,
    )  # fmt: skip
    current = ""

    def follow(node: object) -> None:
        """The dump names a file only where it differs from the one before."""
        nonlocal current
        if isinstance(node, dict):
            for key, value in node.items():
                if key == "file":
                    current = value
                elif key != "includedFrom":
                    follow(value)
        elif isinstance(node, list):
            for item in node:
                follow(item)

    for decl in json.loads(dump.stdout)["inner"]:
        follow(decl["loc"])
        yield Path(current).parent, decl
        follow({key: value for key, value in decl.items() if key != "loc"})


def fields_of(record: dict[str, Any], prefix: str = "") -> list[Field]:
    """The fields of a struct, those of unnamed structs and unions in it included."""
    found: list[Field] = []
    unnamed: dict[str, Any] | None = None
    for node in record.get("inner", []):
        if node["kind"] == "RecordDecl":
            unnamed = None if "name" in node else node
        elif node["kind"] == "FieldDecl":
            path = prefix + node["name"]
            if "unnamed" in node["type"]["qualType"] and unnamed:
                found.append(Field(path, None))
                found += fields_of(unnamed, path + ".")
            else:
                found.append(Field(path, node["type"]["qualType"]))
    return found


def macros_of(dirs: list[Path]) -> list[str]:
    """Macros with a value that the headers in these directories define."""
    text = "".join(p.read_text() for d in dirs for p in map(d.joinpath, HEADERS) if p.exists())
    return re.findall(r"^#define[ \t]+(\w+)[ \t]+\S", text, re.MULTILINE)


def declarations(dirs: list[Path]) -> Declarations:
    """List what headers below these directories, and no others, declare."""
    result = Declarations({}, [], {}, macros_of(dirs))
    for place, decl in top_level(dirs):
        if not any(place.is_relative_to(directory) for directory in dirs):
            continue
        if decl["kind"] == "RecordDecl" and decl.get("completeDefinition") and "name" in decl:
            result.structs[decl["name"]] = fields_of(decl)
        elif decl["kind"] == "EnumDecl":
            result.constants += [
                n["name"] for n in decl.get("inner", []) if n["kind"] == "EnumConstantDecl"
            ]
        elif decl["kind"] == "FunctionDecl":
            result.functions[decl["name"]] = decl["type"]["qualType"]
    return result


def probe(ours: Declarations) -> str:
    """The C program that tells one set of headers from another."""
    checks: list[str] = []
    output: list[str] = []
    for name, fields in ours.structs.items():
        output.append(f'printf("sizeof struct {name}: %zu\\n", sizeof(struct {name}));')
        for field in fields:
            member = f"((struct {name} *)0)->{field.path}"
            output.append(
                f'printf("struct {name}.{field.path}: offset %zu size %zu\\n", '
                f"offsetof(struct {name}, {field.path}), sizeof({member}));"
            )
            if field.type:
                checks.append(
                    f"_Static_assert(__builtin_types_compatible_p(__typeof__({member}), "
                    f'__typeof__({field.type})), "struct {name}.{field.path}: {field.type}");'
                )
    for name in ours.constants + ours.macros:
        output.append(f'printf("{name}: %lld\\n", (long long)({name}));')
    for name, kind in ours.functions.items():
        checks.append(f"extern __typeof__({kind.split(' __attribute__')[0]}) {name};")
    body = "\n\t".join(output)
    checked = "\n".join(checks)
    return f"{PROLOGUE}\n{checked}\nint main(void)\n{{\n\t{body}\n\treturn 0;\n}}\n"


def run_probe(source: str, dirs: list[Path], binary: Path) -> list[str]:
    """Compile the program against one set of headers; return what it prints."""
    subprocess.run(
        [os.environ.get("CC", "cc"), *CFLAGS, *include_flags(dirs), "-x", "c", "-", "-o", binary],
        input=source, text=True, check=True,
    )  # fmt: skip
    out = subprocess.run([binary], text=True, stdout=subprocess.PIPE, check=True)
    return out.stdout.splitlines()


def not_exported(functions: list[str], binaries: list[Path]) -> list[str]:
    """Functions that no installed binary of tcmu-runner offers to a plugin."""
    out = subprocess.run(
        ["nm", "-D", "--defined-only", *binaries], text=True, stdout=subprocess.PIPE, check=True
    )
    exported = {line.split()[-1].split("@")[0] for line in out.stdout.splitlines() if line.strip()}
    return [name for name in functions if name not in exported]


def differences(args: argparse.Namespace) -> tuple[Declarations, list[str]]:
    """Everything that differs, one line each."""
    ours = declarations([args.ours])
    theirs = declarations(args.theirs)
    found: list[str] = []
    for name, fields in ours.structs.items():
        expected = [f.path for f in theirs.structs.get(name, [])]
        if [f.path for f in fields] != expected:
            found.append(f"struct {name}: fields {[f.path for f in fields]}, theirs {expected}")
    source = probe(ours)
    args.work.mkdir(parents=True, exist_ok=True)
    mine = run_probe(source, [args.ours], args.work / "probe-ours")
    other = run_probe(source, args.theirs, args.work / "probe-theirs")
    found += [f"{m}, theirs {t}" for m, t in zip(mine, other, strict=True) if m != t]
    if args.binaries:
        missing = not_exported(list(ours.functions), args.binaries)
        found += [f"{name}: exported by none of the binaries" for name in missing]
    return ours, found


def main() -> int:
    """Run the comparison; exit status 1 when anything differs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ours", type=Path, required=True, help="directory of our headers")
    parser.add_argument("--theirs", type=Path, required=True, action="append",
                        help="directory of their headers; may be repeated")  # fmt: skip
    parser.add_argument("--work", type=Path, required=True, help="directory for compiled programs")
    parser.add_argument("--binaries", type=Path, nargs="*", default=[],
                        help="installed daemon and library, to see what they export")  # fmt: skip
    args = parser.parse_args()
    try:
        ours, found = differences(args)
    except subprocess.CalledProcessError as error:
        print(f"FAILED: {error.cmd[0]} exited {error.returncode}: see the messages above")
        return 1
    for line in found:
        print(f"DIFFERS: {line}")
    if not (ours.structs and ours.constants and ours.functions):
        print("FAILED: nothing to compare was found in our headers")
        return 1
    print(f"compared {ours.summary()}: {len(found)} differences")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
