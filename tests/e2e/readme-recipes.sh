#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
#
# The recipes of README's page "Make it misbehave" print what it shows.
source tests/e2e/lib.sh

start_daemon
/usr/bin/python3 tests/e2e/readme-recipes.py
