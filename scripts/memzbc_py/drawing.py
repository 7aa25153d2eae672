# SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
"""What pictures of LUNs share: matplotlib, which is loaded only for them, and how it is set up."""
from __future__ import annotations

from pathlib import Path
from typing import Any

from .units import MemzbcError

PAPER, INK, GRID, SHADE = "#ffffff", "#222222", "#c8c8c8", "#f1f1f1"
DPI = 110


def pyplot() -> Any:
    """matplotlib.pyplot, which draws into files only. Raises MemzbcError without matplotlib."""
    try:
        import matplotlib
    except ImportError:
        raise MemzbcError(
            "pictures need matplotlib: apt-get install python3-matplotlib"
        ) from None
    matplotlib.use("Agg")
    from matplotlib import pyplot as module

    module.rcParams.update(
        {
            "font.size": 9,
            "axes.edgecolor": GRID,
            "axes.labelcolor": INK,
            "axes.titlesize": 11,
            "xtick.color": INK,
            "ytick.color": INK,
            "savefig.facecolor": PAPER,
            "svg.fonttype": "none",
        }
    )
    return module


def save(figure: Any, path: Path) -> None:
    """Writes the picture, in the format of the path's suffix. Raises MemzbcError."""
    try:
        figure.savefig(path, dpi=DPI)
    except OSError as error:
        raise MemzbcError(f"cannot write {path}: {error.strerror}") from error
    finally:
        pyplot().close(figure)
