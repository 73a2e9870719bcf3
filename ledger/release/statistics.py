"""The t interval on case means, to the last digit the same on every machine.

    t_interval([Fraction(810_000), Fraction(640_000), Fraction(905_000)], level=950_000) -> Interval(451_487, 1_118_513)

Values are exact fractions in, integers out, in the unit of the values (millionths). Student's distribution with a whole
number of degrees of freedom is a finite sum (Abramowitz and Stegun, *Handbook of Mathematical Functions*, 26.7.3 and
26.7.4), so a quantile needs only square roots and one arc tangent. They are computed in `decimal`, whose results the
specification fixes digit by digit, with 60 digits; hence no library of special functions, and no platform, decides
a published bound. The bound is not clipped to the range of a score: clipping is a matter of drawing.

The unit of the interval is the case, never the attempt: repeats of one case are not independent evidence.
"""

from __future__ import annotations

import decimal
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cache
from typing import Final

from store.errors import InputError

__all__ = ["Interval", "student_quantile", "t_interval"]

_DIGITS: Final = 60
_STEPS: Final = 150
_MILLION: Final = 1_000_000
_FEWEST: Final = 2


@dataclass(frozen=True, slots=True)
class Interval:
    """Two bounds, in the unit of the values, rounded half to even."""

    low: int
    high: int


def t_interval(values: Sequence[Fraction], *, level: int) -> Interval | None:
    """Two-sided t interval of the mean.

    Args:
        values: one mean a case, exact.
        level: coverage in millionths, such as 950,000.

    Returns:
        The interval, or null below two values: one case says nothing of spread.
    """
    count = len(values)
    if count < _FEWEST:
        return None
    mean = sum(values, Fraction(0)) / count
    square = sum(((value - mean) ** 2 for value in values), Fraction(0)) / ((count - 1) * count)
    with decimal.localcontext(_context()):
        half = student_quantile(level, count - 1) * _decimal(square).sqrt()
        centre = _decimal(mean)
        return Interval(low=_rounded(centre - half), high=_rounded(centre + half))


@cache
def student_quantile(level: int, freedom: int) -> Decimal:
    """The t with P(|T| ≤ t) = level, for whole degrees of freedom, right to more than 40 digits.

    Args:
        level: in millionths, above 0 and below 1,000,000.
        freedom: degrees of freedom, at least 1.

    Raises:
        InputError: either is out of range.
    """
    if not 0 < level < _MILLION or freedom < 1:
        raise InputError(f"no t quantile for level {level} millionths and {freedom} degrees of freedom")
    with decimal.localcontext(_context()):
        wanted = Decimal(level) / _MILLION
        low, high = Decimal(0), Decimal(1)
        while _central(high, freedom) < wanted:
            low, high = high, high * 2
        for _ in range(_STEPS):
            middle = (low + high) / 2
            if _central(middle, freedom) < wanted:
                low = middle
            else:
                high = middle
        return (low + high) / 2


def _central(t: Decimal, freedom: int) -> Decimal:
    """P(|T| ≤ t): A&S 26.7.3 for odd, 26.7.4 for even degrees of freedom."""
    whole = freedom + t * t
    sine = t / whole.sqrt()
    cosine_square = freedom / whole
    if freedom % 2 == 0:
        return sine * _series(cosine_square, start=Decimal(1), first=1, count=freedom // 2)
    angle = _arctangent(t / Decimal(freedom).sqrt())
    if freedom > 1:
        angle += sine * _series(cosine_square, start=cosine_square.sqrt(), first=2, count=(freedom - 1) // 2)
    return 2 * angle / _pi()


def _series(square: Decimal, *, start: Decimal, first: int, count: int) -> Decimal:
    """Sum of `count` terms; each is the one before × square × k / (k + 1), for k = first, first + 2 and so on."""
    term = total = start
    for k in range(first, first + 2 * (count - 1), 2):
        term = term * square * k / (k + 1)
        total += term
    return total


def _arctangent(x: Decimal) -> Decimal:
    """Taylor's series, after halving the angle until it is small: atan x = 2 atan(x / (1 + √(1 + x²)))."""
    halvings = 0
    while x > Decimal("0.01"):
        x = x / (1 + (1 + x * x).sqrt())
        halvings += 1
    square, power, total, k = x * x, x, x, 1
    while abs(power) > Decimal(10) ** -(_DIGITS + 5):
        power *= -square
        k += 2
        total += power / k
    return total * Decimal(2**halvings)


@cache
def _pi() -> Decimal:
    """Machin: π = 16 atan 1/5 − 4 atan 1/239."""
    with decimal.localcontext(_context()):
        return 16 * _arctangent(Decimal(1) / 5) - 4 * _arctangent(Decimal(1) / 239)


def _decimal(value: Fraction) -> Decimal:
    return Decimal(value.numerator) / Decimal(value.denominator)


def _rounded(value: Decimal) -> int:
    return int(value.to_integral_value(rounding=decimal.ROUND_HALF_EVEN))


def _context() -> decimal.Context:
    """A context of its own: the caller's precision and traps change nothing."""
    return decimal.Context(
        prec=_DIGITS,
        rounding=decimal.ROUND_HALF_EVEN,
        Emin=-999_999,
        Emax=999_999,
        capitals=1,
        clamp=0,
        flags=[],
        traps=[decimal.InvalidOperation, decimal.DivisionByZero, decimal.Overflow],
    )
