#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
# No finding of shellcheck in any shell script of the tree.
set -euo pipefail

mapfile -t scripts < <(git ls-files | while read -r file; do
	[[ $file == *.sh || $file == *.bash-completion ]] && echo "$file" && continue
	[[ -f $file ]] && head -n1 "$file" | grep -qE '^#! ?/bin/(ba)?sh|^#! ?/usr/bin/env bash' &&
		echo "$file"
done)
((${#scripts[@]} > 0))
shellcheck -x -P SCRIPTDIR -P scripts/lib -P tests/e2e "${scripts[@]}"
