# SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
"""The parts of the memzbc command."""
