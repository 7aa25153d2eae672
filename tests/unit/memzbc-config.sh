#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
# memzbc-config.sh PROGRAM README: memzbc-config as scripts use it, its output and exit status; and
# that the README describes the same keys.
set -euo pipefail

program=$1
readme=$2
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT

# expect STATUS ARG...: what it writes is in $out/out and $out/err.
expect() {
	local want=$1 got=0
	shift
	"$program" "$@" >"$out/out" 2>"$out/err" || got=$?
	if [[ $got != "$want" ]]; then
		echo "memzbc-config $*: exit status $got, not $want" >&2
		cat "$out/out" "$out/err" >&2
		exit 1
	fi
}

same() { # same FILE TEXT
	diff -u <(printf '%s\n' "$2") "$out/$1"
}

expect 0 check 'lba=512/zone_size=128M/zone_cap=96M/conv=2/mem=1G' 4294967296 512
same out '{"lba_size": 512, "pblk_size": 4096, "zone_size": 134217728, "zone_cap": 100663296,'\
' "zones": 32, "conv": 2, "conv_end": 0, "max_open": 128, "urswrz": 1, "mem": 1073741824}'
expect 0 check 'urswrz=0/conv_end=1/mem=1M/max_open=0' 1073741824 4096
same out '{"lba_size": 4096, "pblk_size": 4096, "zone_size": 268435456, "zone_cap": 268435456,'\
' "zones": 4, "conv": 1, "conv_end": 1, "max_open": 0, "urswrz": 0, "mem": 1048576}'
# Without a size, only the string is judged.
expect 0 check conv=1000
[[ ! -s $out/out && ! -s $out/err ]]

expect 1 check max_open=many
same err 'memzbc-config: max_open=many: no whole number; accepted: 0 to 2147483647 zones'
expect 1 check '' 1073741825
same err 'memzbc-config: size of 1073741825 bytes: no multiple of the physical block, pblk=4096'
[[ ! -s $out/out ]]

for arguments in '' check '--json check' 'check a b' 'check a 1 -1' 'check a 1M' 'check a 1 2 3' \
	'check a 18446744073709551616' 'check a 1 4294967296' --frob; do
	read -ra words <<<"$arguments"
	expect 2 "${words[@]}"
	grep -q '^Usage: ' "$out/err"
done

expect 0 --help
grep -q '^Usage: ' "$out/out"

expect 0 --json
/usr/bin/python3 - "$out/out" <<'EOF'
import json
import sys

with open(sys.argv[1], encoding="ascii") as file:
    keys = json.load(file)
assert [key["name"] for key in keys] == [
    "model", "zone_size", "zone_cap", "conv", "conv_end", "lba", "pblk", "max_open", "urswrz",
    "mem", "seed", "reorder", "reorder_depth", "reorder_time", "reorder_conv",
    "hold", "hold_attempts", "hold_time",
    "delay", "delay_read", "delay_write", "delay_zone", "delay_sync", "rate", "seek",
    "cache", "error", "trace", "stats"], keys
assert keys[1] == {
    "name": "zone_size", "unit": "bytes", "range": "512 to 4194304T", "default": "256M",
    "when": "at creation",
    "help": "Distance of two zone starts: any multiple of pblk, power of two or not"}, keys[1]
assert keys[27] == {
    "name": "trace", "unit": "commands", "range": "0 to 16777216", "default": "65536",
    "when": "at any time",
    "help": "Commands that the trace remembers; 0 is off"}, keys[27]
EOF
expect 0 --markdown
[[ $(wc -l <"$out/out") == 31 ]]
row() { # row CELL...: the table has this row
	local line
	line=$(printf '| %s ' "$@")'|'
	grep -qxF "$line" "$out/out"
}
row max_open 'Sequential zones that can be open at once; 0 is no limit' '0 to 2147483647 zones' \
	128 'at creation'
row hold_time 'Time after which a kept write fails' '1us to 20s' 2s 'at any time'
# The README has them in another order, and two tables.
/usr/bin/python3 - "$out/out" "$readme" <<'EOF'
import sys

with open(sys.argv[1], encoding="ascii") as table, open(sys.argv[2], encoding="utf-8") as readme:
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in list(table)[2:]]
    documented = [line.rstrip("\n") for line in readme if line.startswith("| `")]
for name, text, accepted, default, _ in rows:
    row = f"| `{name}` | {accepted} | {default} | {text} |"
    assert row in documented, f"not in the README: {row}"
EOF
# Every line has as many cells as the head.
awk -F'|' 'NF != 7 { print; bad = 1 } END { exit bad }' "$out/out"
