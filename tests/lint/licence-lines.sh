#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
# Every file says its licence in the first two lines: GPL-2.0-only in tests/kernel, tcmu-runner's
# own choice elsewhere. Empty files and what cannot hold a comment (JSON, PNG, patches for git
# am) are left out.
set -euo pipefail

status=0
while read -r file; do
	[[ -s $file && $file != *.@(json|png) && $file != tests/kernel/patches/* ]] || continue
	wanted="LGPL-2.1-or-later OR Apache-2.0"
	[[ $file == tests/kernel/* ]] && wanted="GPL-2.0-only"
	if ! head -n2 "$file" | grep -q "SPDX-License-Identifier: $wanted"; then
		echo "$file: no line 'SPDX-License-Identifier: $wanted'"
		status=1
	fi
done < <(git ls-files)
exit $status
