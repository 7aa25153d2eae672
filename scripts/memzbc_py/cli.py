# SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
"""The command line: arguments, the commands, and what they print."""
from __future__ import annotations

import argparse
import json
import os
import signal
import sys
from dataclasses import asdict
from typing import Any, Callable, NoReturn, TypeVar

from . import keys, scsi
from .units import (DEFAULT_PORT, MemzbcError, Portal, check_name, format_size, join_config, parse_portal,
                    parse_settings, parse_size, split_config)

# daemon and lio need packages and a kernel that 'memzbc help' does without: they are imported where used.

DEFAULT_PORTAL = "127.0.0.1"
EXIT_ERROR, EXIT_USAGE, EXIT_INTERRUPTED = 1, 2, 130
Result = TypeVar("Result")

EPILOG = """\
examples:
  memzbc create z0 --size 4G zone_size=128M zone_cap=96M conv=4
  memzbc create z1 --size 16G --iscsi --portal 0.0.0.0
  memzbc zones z0
  memzbc help zone_size

exit status: 0 done, 1 refused or failed (the reason is on standard error), 2 wrong usage"""


def typed(parse: Callable[[str], Result]) -> Callable[[str], Result]:
    """An argparse type whose ValueError text reaches the user."""
    def convert(text: str) -> Result:
        try:
            return parse(text)
        except ValueError as error:
            raise argparse.ArgumentTypeError(str(error)) from None
    return convert


def say(text: str) -> None:
    """Tells something beside the result, on standard error."""
    print(f"memzbc: {text}", file=sys.stderr)


def table(rows: list[list[str]]) -> str:
    """Rows in aligned columns; the last column is not padded."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]) - 1)]
    return "\n".join("  ".join([cell.ljust(width) for cell, width in zip(row, widths)] + row[-1:]).rstrip()
                     for row in rows)


def show(args: argparse.Namespace, data: Any, text: str) -> None:
    """Prints a result: DATA as JSON when asked for, else TEXT."""
    print(json.dumps(data, indent=2) if args.json else text)


def need_root() -> None:
    """Raises MemzbcError unless root runs this."""
    if os.geteuid():
        raise MemzbcError("only root can do this")


def addresses_to_reach(portal: Portal) -> list[str]:
    """Addresses that an initiator can use for PORTAL: this machine's own when it listens at all of them."""
    import ipaddress
    import subprocess
    if not portal.address.is_unspecified:
        return [str(portal)]
    done = subprocess.run(["ip", "-json", f"-{portal.address.version}", "address", "show", "scope", "global"],
                          check=False, capture_output=True, text=True)
    found = [address["local"] for link in json.loads(done.stdout or "[]") for address in link.get("addr_info", [])]
    usable = [str(Portal(ipaddress.ip_address(address), portal.port)) for address in found]
    return usable or [str(parse_portal(f"{DEFAULT_PORTAL}:{portal.port}"))]


def export_data(export: Any) -> dict[str, Any]:
    """An export as JSON; which fields it has depends on the fabric."""
    data: dict[str, Any] = {"fabric": export.fabric, "target": export.wwn, "lun": export.lun}
    if export.fabric == "iscsi":
        data |= {"portals": export.portals, "initiators": export.sessions}
    data["disks"] = [{"hctl": disk.hctl, "block": disk.block and f"/dev/{disk.block}",
                      "sg": disk.generic and f"/dev/{disk.generic}"} for disk in export.disks]
    return data


def lun_data(lun: Any) -> dict[str, Any]:
    """A LUN as JSON."""
    settings = split_config(lun.config)
    return {
        "name": lun.name, "size": lun.size, "block_size": lun.block_size, "config": lun.config,
        "model": keys.value_of("model", settings), "zone_size": keys.size_of("zone_size", settings),
        "serial": lun.storage.wwn, "exports": [export_data(export) for export in lun.exports],
    }


def login_commands(export: Any, reachable: list[str]) -> list[str]:
    """What to type at an initiator, one line for each address."""
    return [f"iscsiadm -m discovery -t sendtargets -p {address} &&"
            f" iscsiadm -m node -T {export.wwn} -p {address} --login" for address in reachable]


def check_create(args: argparse.Namespace) -> tuple[str, dict[str, str], int]:
    """Judges a LUN to be made as far as that goes without touching the system; its config string, settings
    and block size. Raises MemzbcError."""
    try:
        settings = parse_settings(args.settings)
        config = join_config(settings)
    except ValueError as error:
        raise MemzbcError(str(error)) from None
    block_size = keys.block_size_of(settings)
    if args.size == 0 or args.size % block_size:
        raise MemzbcError(f"--size {args.size}: expected a multiple of the logical block, {block_size} bytes,"
                          " and at least one")
    keys.check_config(config, args.size, block_size)
    return config, settings, block_size


def make_lun(args: argparse.Namespace, config: str, block_size: int) -> Any:
    """Brings up what is needed and makes the LUN. Raises MemzbcError, with the daemon's log when that tells more."""
    from . import daemon, lio
    fabric = "iscsi" if args.portal else "loopback"
    with lio.locked():
        daemon.load_modules(lio.FABRIC_MODULES[fabric])
        lio.check_free(args.name, fabric)
        if args.portal:
            lio.check_portal(args.portal)
        daemon.ensure_running(may_restart=not lio.any_user_backstore())
        daemon.check_config(config)
        offset = daemon.log_size()
        try:
            return lio.create(args.name, config, args.size, block_size, args.portal)
        except MemzbcError as error:
            log = daemon.log_since(offset)
            raise MemzbcError(f"{error}\n{daemon.LOG}:\n{log}" if log else str(error)) from error


def create(args: argparse.Namespace) -> int:
    """memzbc create"""
    if args.portal and not args.iscsi:
        args.parser.error("--portal needs --iscsi")
    need_root()
    if args.iscsi and not args.portal:
        args.portal = parse_portal(DEFAULT_PORTAL)
    config, settings, block_size = check_create(args)
    lun = make_lun(args, config, block_size)
    warnings = keys.kernel_warnings(settings)
    export = lun.exports[0]
    data = lun_data(lun) | {"warnings": warnings}
    rows = [["size", format_size(lun.size)], ["config", f"memzbc/{config}"]]
    if args.portal:
        commands = login_commands(export, addresses_to_reach(args.portal))
        data["login"] = commands
        rows += [["portal", str(args.portal)], ["target", export.wwn], *(["login", line] for line in commands)]
        if args.portal.address.is_loopback:
            rows.append(["note", "only this machine can log in; --portal 0.0.0.0 lets all others in, without a password"])
    else:
        disk = export.disks[0]
        rows += [["disk", f"/dev/{disk.block}" if disk.block else "none (this kernel refuses the disk)"],
                 ["sg", f"/dev/{disk.generic}"]]
    show(args, data, f"{args.name}\n" + table([["", *row] for row in rows]))
    for warning in warnings:
        say(f"warning: {warning}")
    return 0


def use_in_short(lun: Any, uses: list[str]) -> str:
    """What 'memzbc list' says of a LUN's use, in few words."""
    if any(export.sessions for export in lun.exports):
        return "logged in"
    if any(" mounted " in use for use in uses):
        return "mounted"
    return "open" if uses else "no"


def list_luns(args: argparse.Namespace) -> int:
    """memzbc list"""
    from . import lio
    need_root()
    data: list[dict[str, Any]] = []
    rows = [["NAME", "SIZE", "ZONES", "MODEL", "TARGET", "DISK", "IN USE", "CONFIG"]]
    for lun in lio.find_all():
        uses = lio.uses_of_lun(lun)
        entry: dict[str, Any] = lun_data(lun) | {"uses": uses}
        data.append(entry)
        rows.append([lun.name, format_size(lun.size), format_size(entry["zone_size"] or 0), entry["model"],
                     " ".join(f"{export.fabric}:{export.wwn}" for export in lun.exports) or "-",
                     " ".join(node for disk in lun.disks for node in disk.nodes) or "-",
                     use_in_short(lun, uses), f"memzbc/{lun.config}"])
    show(args, data, table(rows) if data else "no LUN ('memzbc create' makes one)")
    return 0


def existing(name: str) -> Any:
    """The LUN called NAME. Raises MemzbcError when there is none."""
    from . import lio
    lun = lio.find(name)
    if lun:
        return lun
    names = ", ".join(other.name for other in lio.find_all()) or "none"
    raise MemzbcError(f"no LUN '{name}' (there is: {names})")


def sg_node_of(lun: Any) -> str:
    """A generic node of this machine for LUN. Raises MemzbcError with the way to get one."""
    for disk in lun.disks:
        if disk.generic:
            return f"/dev/{disk.generic}"
    iscsi = next((export for export in lun.exports if export.fabric == "iscsi"), None)
    if iscsi and iscsi.portals:
        raise MemzbcError(f"no disk on this machine leads to LUN '{lun.name}': log in first with\n    "
                          + login_commands(iscsi, addresses_to_reach(parse_portal(iscsi.portals[0])))[0])
    raise MemzbcError(f"LUN '{lun.name}' is exported by no target of this machine: export it with targetcli,"
                      f" or delete it and create it again (memzbc delete {lun.name})")


def pointer_text(zone: scsi.Zone) -> str:
    """A write pointer for a person."""
    return "-" if zone.write_pointer is None else f"{zone.write_pointer:#x}"


def zones(args: argparse.Namespace) -> int:
    """memzbc zones"""
    need_root()
    lun = existing(args.name)
    data: list[dict[str, Any]] = []
    rows = [["ZONE", "TYPE", "CONDITION", "START LBA", "LENGTH", "WRITE POINTER"]]
    count = 0
    for zone in scsi.report_zones(sg_node_of(lun)):
        # A gap belongs to the zone before it and has no number of its own, as for the kernel.
        number = None if zone.type == scsi.GAP else count
        kind = scsi.ZONE_TYPES.get(zone.type, f"type {zone.type:#x}")
        condition = scsi.CONDITIONS.get(zone.condition, f"condition {zone.condition:#x}")
        data.append({"zone": number, "type": kind, "condition": condition, "start": zone.start,
                     "length": zone.length, "write_pointer": zone.write_pointer})
        rows.append(["-" if number is None else str(number), kind, condition, f"{zone.start:#x}",
                     f"{zone.length:#x}", pointer_text(zone)])
        count += number is not None
    show(args, {"name": lun.name, "block_size": lun.block_size, "zones": data}, table(rows))
    return 0


def ensure_runner_for_delete() -> None:
    """A LUN is best taken down with tcmu-runner there, so starts it if need be; goes on without it, saying so."""
    from . import daemon
    try:
        if daemon.is_running():
            return
        say("tcmu-runner is not running; starting it, so that the LUN is closed and its memory given back")
        daemon.ensure_running(may_restart=False)
    except MemzbcError as error:
        say(f"{error}\nDeleting without tcmu-runner: the kernel ends outstanding commands after cmd_time_out"
            " (30 s), and the LUN's memory is given back when tcmu-runner starts next.")


def delete(args: argparse.Namespace) -> int:
    """memzbc delete"""
    from rtslib_fb import RTSLibError

    from . import lio
    need_root()
    with lio.locked():
        lun = lio.find(args.name)
        if not lun and not lio.leftover_targets(args.name):
            existing(args.name)
        if lun:
            uses = lio.uses_of_lun(lun)
            if uses:
                raise MemzbcError(f"LUN '{args.name}' is in use:\n" + "\n".join(f"    {use}" for use in uses))
            ensure_runner_for_delete()
        try:
            kept = lio.remove(args.name)
        except (RTSLibError, OSError) as error:
            raise MemzbcError(f"LUN '{args.name}' is not wholly removed: {error}") from error
    for what in kept:
        say(f"left in place: {what}")
    show(args, {"name": args.name, "deleted": True, "left": kept}, f"{args.name} deleted")
    return 0


def help_keys(args: argparse.Namespace) -> int:
    """memzbc help"""
    known = keys.load_keys()
    if args.key is None:
        rows = [["KEY", "UNIT", "RANGE", "DEFAULT", "MEANING"]]
        rows += [[key.name, key.unit, key.range, key.default, key.help] for key in known.values()]
        text = (f"{args.usage}\nconfig keys (KEY=VALUE; sizes take K, M, G, T, powers of 1024):\n{table(rows)}\n\n"
                "'memzbc help KEY' tells all of one key, 'memzbc COMMAND --help' all of a command.")
        show(args, [asdict(key) for key in known.values()], text)
        return 0
    key = known.get(args.key)
    if not key:
        raise MemzbcError(f"no key '{args.key}'; the keys are: {', '.join(known)}")
    show(args, asdict(key), table([[name, value] for name, value in asdict(key).items() if value]))
    return 0


def build_parser() -> argparse.ArgumentParser:
    """The argument parser; each command leaves its function in `run`."""
    common = argparse.ArgumentParser(add_help=False)
    common.add_argument("--json", action="store_true", help="print the result as JSON")
    parser = argparse.ArgumentParser(prog="memzbc", epilog=EPILOG, formatter_class=argparse.RawDescriptionHelpFormatter,
                                     description="In-memory zoned SCSI disks (LUNs) through LIO and tcmu-runner.")
    commands = parser.add_subparsers(metavar="COMMAND", required=True)

    def command(name: str, run: Callable[[argparse.Namespace], int], text: str) -> argparse.ArgumentParser:
        sub = commands.add_parser(name, parents=[common], help=text, description=text.capitalize() + ".")
        sub.set_defaults(run=run, parser=sub)
        return sub

    make = command("create", create, "make a LUN; starts tcmu-runner if need be")
    make.add_argument("name", metavar="NAME", type=typed(check_name))
    make.add_argument("--size", type=typed(parse_size), required=True, help="capacity; K, M, G, T are powers of 1024")
    make.add_argument("settings", metavar="KEY=VALUE", nargs="*", help="config keys ('memzbc help' lists them)")
    make.add_argument("--iscsi", action="store_true", help="on an iSCSI portal rather than as a disk of this machine")
    make.add_argument("--portal", metavar="ADDR[:PORT]", type=typed(parse_portal),
                      help=f"where the iSCSI target listens (default {DEFAULT_PORTAL}:{DEFAULT_PORT}: this machine only;"
                           " 0.0.0.0 or [::] for all addresses). Whoever reaches it can log in and write")
    command("list", list_luns, "list the LUNs")
    command("zones", zones, "show the zones of a LUN").add_argument("name", metavar="NAME")
    command("delete", delete, "delete a LUN and its data").add_argument("name", metavar="NAME")
    show_help = command("help", help_keys, "explain the config keys")
    show_help.add_argument("key", metavar="KEY", nargs="?")
    show_help.set_defaults(usage=parser.format_help())
    return parser


def parse_arguments() -> argparse.Namespace:
    """The command line as parsed; settings may stand before and after options."""
    parser = build_parser()
    args, rest = parser.parse_known_args()
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
        say(f"{error}")
        return EXIT_ERROR
    except ImportError as error:
        say(f"{error}: install Debian's python3-rtslib-fb and python3-dbus")
        return EXIT_ERROR
    except BrokenPipeError:  # 'memzbc zones z0 | head'
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        say("interrupted")
        return EXIT_INTERRUPTED
