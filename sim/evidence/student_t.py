"""Student's t distribution: the value that a two-sided 95 % interval needs.

A table for few degrees of freedom, and an expansion that is exact to four digits for more.
"""

from __future__ import annotations

_T_975 = (
    12.7062, 4.3027, 3.1824, 2.7764, 2.5706, 2.4469, 2.3646, 2.3060, 2.2622, 2.2281, 2.2010, 2.1788, 2.1604, 2.1448,
    2.1314, 2.1199, 2.1098, 2.1009, 2.0930, 2.0860,
)  # fmt: skip
"""Student's t for 1 to 20 degrees of freedom, 97.5 %."""
_Z_975 = 1.959964
"""The normal distribution, 97.5 %."""


def student_t(degrees: int) -> float:
    """Student's t of 97.5 %; above 20 degrees of freedom by the expansion of Abramowitz and Stegun, 26.7.5, to four
    digits."""
    if degrees <= len(_T_975):
        return _T_975[degrees - 1]
    z = _Z_975
    return (
        z
        + (z**3 + z) / (4 * degrees)
        + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * degrees**2)
        + (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / (384 * degrees**3)
    )
