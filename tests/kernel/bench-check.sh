#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# scripts/eh-bench on the patched kernel: every way writes without an error, verified, and each that
# has many writes of a zone in flight is faster than mq-deadline, if only twice: how much depends on
# the machine.

set -euo pipefail

kernel=$(scripts/kernel-build --directory patched)
output=$(scripts/eh-bench --kernel "$kernel/vmlinuz" --modules "$kernel" --delays 5ms --seconds 1 \
	--json)
printf '%s\n' "$output"
/usr/bin/python3 -c '
import json, sys
ratios = {speed["way"]: speed["ratio"] for speed in json.load(sys.stdin)}
assert list(ratios) == ["mq-deadline", "hold", "patch", "module"], ratios
assert ratios.pop("mq-deadline") == 1, ratios
assert all(ratio > 2 for ratio in ratios.values()), ratios' <<<"$output"
