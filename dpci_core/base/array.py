"""The arrays that functions take and return, by what they hold."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
"""Numbers; the shape stands where it is used."""
Single = npt.NDArray[np.float32]
"""Numbers where half the memory counts."""
Flags = npt.NDArray[np.bool_]
Integers = npt.NDArray[np.int64]
"""Counts, codes of levels, positions that were drawn."""
Positions = npt.NDArray[np.intp]
"""Positions along an axis, as NumPy finds them."""
