#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
# clang-tidy.sh BUILD: no finding of .clang-tidy's checks in the handler's sources.
set -euo pipefail

clang-tidy --quiet -p "$1" handler/*.c handler/fault/*.c 2>/dev/null
