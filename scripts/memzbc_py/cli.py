# SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
"""The command line: its arguments, and the commands."""
from __future__ import annotations

import argparse
import os
import signal
import sys
from dataclasses import asdict
from typing import Any, NoReturn

from . import keys, live, observe
from .arguments import Run, named, need_root, typed
from .show import (
    list_row,
    login_commands,
    lun_data,
    print_result,
    say,
    table,
)
from .units import (
    DEFAULT_PORT,
    MemzbcError,
    check_name,
    format_size,
    join_config,
    parse_portal,
    parse_settings,
    parse_size,
)

# daemon and lio need packages and a kernel that 'memzbc help' does without: imported where used.

DEFAULT_PORTAL = "127.0.0.1"
EXIT_ERROR, EXIT_INTERRUPTED = 1, 130

EPILOG = """\
examples:
  memzbc create z0 --size 4G zone_size=128M zone_cap=96M conv=4
  memzbc create z1 --size 16G --iscsi --portal 0.0.0.0
  memzbc zones z0 --map
  memzbc trace z0 --follow
  memzbc help zone_size

exit status: 0 done, 1 refused or failed (the reason is on standard error), 2 wrong usage"""


def check_create(args: argparse.Namespace) -> tuple[str, dict[str, Any]]:
    """Judges a LUN to be made as far as that goes without touching the system; its config string
    and its geometry. Raises MemzbcError."""
    try:
        config = join_config(parse_settings(args.settings))
    except ValueError as error:
        raise MemzbcError(str(error)) from None
    return config, keys.geometry_of(config, args.size)


def make_lun(args: argparse.Namespace, config: str, block_size: int) -> Any:
    """Brings up what is needed and makes the LUN. Raises MemzbcError, with what tcmu-runner logged
    when the making itself failed."""
    from . import daemon, lio

    fabric = "iscsi" if args.portal else "loopback"
    with lio.locked():
        lio.check_free(args.name, fabric)
        if args.portal:
            lio.check_portal(args.portal)
        daemon.load_modules(lio.FABRIC_MODULES[fabric])
        daemon.ensure_running(may_restart=not lio.any_user_backstore())
        daemon.check_config(config)
        offset = daemon.log_size()
        try:
            return lio.create(args.name, config, args.size, block_size, args.portal)
        except MemzbcError as error:
            log = daemon.log_since(offset)
            raise MemzbcError(f"{error}\n{daemon.LOG}:\n{log}" if log else str(error)) from error


def where_rows(args: argparse.Namespace, export: Any, logins: list[str]) -> list[list[str]]:
    """Where a new LUN is to be found, for a person."""
    if args.portal:
        rows = [["portal", str(args.portal)], ["target", export.wwn]]
        rows += [["login", line] for line in logins]
        if args.portal.address.is_loopback:
            note = "only this machine can log in; --portal 0.0.0.0 lets all others in"
            rows.append(["note", note])
        return rows
    disk = export.disks[0]
    block = f"/dev/{disk.block}" if disk.block else "none (this kernel refuses the disk)"
    return [["disk", block], ["sg", f"/dev/{disk.generic}"]]


def create(args: argparse.Namespace) -> int:
    """memzbc create"""
    if args.portal and not args.iscsi:
        args.parser.error("--portal needs --iscsi")
    need_root()
    if args.iscsi and not args.portal:
        args.portal = parse_portal(DEFAULT_PORTAL)
    config, geometry = check_create(args)
    lun = make_lun(args, config, geometry["lba_size"])
    export = lun.exports[0]
    logins = login_commands(export.wwn, args.portal) if args.portal else []
    warnings = keys.kernel_warnings(geometry)
    rows = [["size", format_size(lun.size)], ["config", f"memzbc/{config}"]]
    rows += where_rows(args, export, logins)
    data = lun_data(lun) | {"login": logins, "warnings": warnings}
    print_result(args, data, f"{args.name}\n" + table([["", *row] for row in rows]))
    for warning in warnings:
        say(f"warning: {warning}")
    return 0


def list_luns(args: argparse.Namespace) -> int:
    """memzbc list"""
    from . import lio

    need_root()
    data: list[dict[str, Any]] = []
    rows = [["NAME", "SIZE", "ZONES", "MODEL", "TARGET", "DISK", "IN USE", "CONFIG"]]
    for lun in lio.find_all():
        uses = lio.uses_of_lun(lun)
        data.append(lun_data(lun) | {"uses": uses})
        rows.append(list_row(lun, data[-1], uses))
    print_result(args, data, table(rows) if data else "no LUN ('memzbc create' makes one)")
    return 0


def ensure_runner_for_delete() -> None:
    """A LUN is best taken down with tcmu-runner there: starts it if need be, or tells what
    happens without it."""
    from . import daemon

    try:
        if daemon.is_running():
            return
        say(
            "tcmu-runner is not running: starting it, so that the LUN is closed and its memory"
            " given back"
        )
        daemon.ensure_running(may_restart=False)
    except MemzbcError as error:
        say(
            f"{error}\nDeleting without tcmu-runner: the kernel ends outstanding commands after"
            " cmd_time_out (30 s), and the LUN's memory is given back when tcmu-runner starts next."
        )


def delete(args: argparse.Namespace) -> int:
    """memzbc delete"""
    from rtslib_fb import RTSLibError

    from . import lio

    need_root()
    with lio.locked():
        lun = lio.find(args.name)
        if not lun and not lio.leftover_targets(args.name):
            lio.existing(args.name)
        if lun:
            uses = "".join(f"\n    {use}" for use in lio.uses_of_lun(lun))
            if uses:
                raise MemzbcError(f"LUN '{args.name}' is in use:{uses}")
            ensure_runner_for_delete()
        try:
            kept = lio.remove(args.name)
        except (RTSLibError, OSError) as error:
            raise MemzbcError(f"LUN '{args.name}' is not wholly removed: {error}") from error
    for what in kept:
        say(f"left in place: {what}")
    print_result(args, {"name": args.name, "deleted": True, "left": kept}, f"{args.name} deleted")
    return 0


def help_keys(args: argparse.Namespace) -> int:
    """memzbc help"""
    known = keys.load_keys()
    if args.key is None:
        rows: list[list[str]] = []
        for key in known.values():
            accepted = f"{key.range} {key.unit}".rstrip()
            rows += [[key.name, f"{accepted}; default: {key.default}"], ["", key.help]]
        text = (
            f"{args.usage}\n"
            f"config keys (KEY=VALUE; sizes take K, M, G, T, powers of 1024):\n{table(rows)}\n\n"
            "'memzbc help KEY' tells all of one key, 'memzbc COMMAND --help' all of a command."
        )
        print_result(args, [asdict(key) for key in known.values()], text)
        return 0
    if args.key not in known:
        raise MemzbcError(f"no key '{args.key}'; the keys are: {', '.join(known)}")
    fields = asdict(known[args.key])
    print_result(args, fields, table([[name, value] for name, value in fields.items() if value]))
    return 0


def add_create_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of memzbc create."""
    parser.add_argument("name", metavar="NAME", type=typed(check_name))
    parser.add_argument(
        "settings", metavar="KEY=VALUE", nargs="*", help="config keys ('memzbc help' lists them)"
    )
    parser.add_argument(
        "--size",
        type=typed(parse_size),
        required=True,
        help="capacity in bytes, or with K, M, G or T, powers of 1024",
    )
    parser.add_argument(
        "--iscsi",
        action="store_true",
        help="behind an iSCSI portal, rather than as a disk of this machine",
    )
    parser.add_argument(
        "--portal",
        metavar="ADDR[:PORT]",
        type=typed(parse_portal),
        help=f"where the iSCSI target listens (default {DEFAULT_PORTAL}:{DEFAULT_PORT}, for this"
        " machine only; 0.0.0.0 or [::] for all its addresses). Whoever reaches it can log in,"
        " without a password, and write",
    )


def build_parser() -> argparse.ArgumentParser:
    """The argument parser; each command leaves its function in `run`."""
    common = argparse.ArgumentParser(add_help=False)
    common.add_argument("--json", action="store_true", help="print the result as JSON")
    parser = argparse.ArgumentParser(
        prog="memzbc",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        description="In-memory zoned SCSI disks (LUNs) through LIO and tcmu-runner.",
    )
    commands = parser.add_subparsers(metavar="COMMAND", title="commands", required=True)

    def command(name: str, run: Run, text: str) -> argparse.ArgumentParser:
        about = f"{text[0].upper()}{text[1:]}."
        sub = commands.add_parser(name, parents=[common], help=text, description=about)
        sub.set_defaults(run=run, parser=sub)
        return sub

    add_create_arguments(command("create", create, "make a LUN; starts tcmu-runner if need be"))
    command("list", list_luns, "list the LUNs")
    observe.add_commands(command)
    live.add_commands(command)
    named(command("delete", delete, "delete a LUN and its data"))
    show_help = command("help", help_keys, "explain the config keys")
    show_help.add_argument("key", metavar="KEY", nargs="?")
    show_help.set_defaults(usage=parser.format_help())
    return parser


def parse_arguments() -> argparse.Namespace:
    """The command line as parsed; settings may stand before and after options."""
    words = sys.argv[1:]
    # argparse finds no operand that may be missing behind an option.
    if "--json" in words[1:]:
        words.remove("--json")
        words.insert(1, "--json")
    args, rest = build_parser().parse_known_args(words)
    strange = [word for word in rest if word.startswith("-") or "settings" not in args]
    if strange:
        args.parser.error(f"unrecognized arguments: {' '.join(strange)}")
    if rest:
        args.settings += rest
    return args


def terminated(*_: Any) -> NoReturn:
    """SIGTERM takes the same way out as Ctrl-C, through every clean-up."""
    raise KeyboardInterrupt


def main() -> int:
    """Runs the command line; the exit status."""
    args = parse_arguments()
    signal.signal(signal.SIGTERM, terminated)
    try:
        status: int = args.run(args)
        sys.stdout.flush()
        return status
    except MemzbcError as error:
        say(str(error))
        return EXIT_ERROR
    except ImportError as error:
        say(f"{error}: install Debian's python3-rtslib-fb and python3-dbus")
        return EXIT_ERROR
    except BrokenPipeError:  # 'memzbc zones z0 | head'
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        say(str(error))
        return EXIT_ERROR
    except KeyboardInterrupt:
        say("interrupted")
        return EXIT_INTERRUPTED
