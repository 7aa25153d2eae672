#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
# builds.sh CMAKE COMPILER BUILD: without a warning. The sanitized tests are the same sources again.
set -euo pipefail

"$1" -S . -B "$3" -DCMAKE_C_COMPILER="$2" -DMEMZBC_WERROR=ON -DMEMZBC_SANITIZED_TESTS=OFF
"$1" --build "$3" --parallel "$(nproc)"
