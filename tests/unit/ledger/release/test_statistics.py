"""The t interval: exact, the same everywhere, and what SciPy says."""

from __future__ import annotations

import decimal
import os
import subprocess
import sys
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from ledger.release.statistics import Interval, student_quantile, t_interval
from store.errors import InputError

ROOT = Path(__file__).parents[4]


@pytest.mark.parametrize("level", [500_000, 800_000, 900_000, 950_000, 990_000, 999_000])
@pytest.mark.parametrize("freedom", [1, 2, 3, 4, 5, 7, 8, 15, 16, 29, 99, 100, 301])
def test_quantiles_agree_with_scipy(level, freedom):
    expected = stats.t.ppf((1 + level / 1e6) / 2, freedom)
    assert float(student_quantile(level, freedom)) == pytest.approx(expected, rel=1e-11)


def test_a_quantile_has_forty_right_digits():
    # two degrees of freedom have a closed form: t = 2p / √(2(1 − p²))
    with decimal.localcontext(decimal.Context(prec=60)):
        two = 2 * Decimal("0.95") / (2 * (1 - Decimal("0.95") ** 2)).sqrt()
        assert abs(student_quantile(950_000, 2) - two) < Decimal(10) ** -40


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(0, 1_000_000), min_size=2, max_size=25), st.sampled_from([800_000, 950_000, 990_000]))
def test_the_interval_is_scipys_to_the_millionth(values, level):
    found = t_interval([Fraction(value) for value in values], level=level)
    assert found is not None
    mean, error = sum(values) / len(values), stats.sem(values)
    half = stats.t.ppf((1 + level / 1e6) / 2, len(values) - 1) * error
    assert found.low == pytest.approx(mean - half, abs=0.51 + 1e-4)
    assert found.high == pytest.approx(mean + half, abs=0.51 + 1e-4)


def test_one_case_has_no_interval():
    assert t_interval([Fraction(5)], level=950_000) is None
    assert t_interval([], level=950_000) is None


def test_equal_cases_have_an_interval_of_no_width():
    assert t_interval([Fraction(1, 3)] * 3, level=950_000) == Interval(0, 0)


@pytest.mark.parametrize(("level", "freedom"), [(0, 3), (1_000_000, 3), (950_000, 0)])
def test_what_has_no_quantile_is_refused(level, freedom):
    with pytest.raises(InputError):
        student_quantile(level, freedom)


def test_the_callers_decimal_context_changes_nothing():
    values = [Fraction(1), Fraction(2, 3), Fraction(999_999)]
    expected = t_interval(values, level=930_001)
    student_quantile.cache_clear()
    with decimal.localcontext(decimal.Context(prec=3, rounding=decimal.ROUND_UP)):
        assert t_interval(values, level=930_001) == expected


def test_locale_and_time_zone_change_nothing():
    code = (
        "from fractions import Fraction as F; from ledger.release.statistics import *;"
        "print(t_interval([F(1,3),F(810000),F(640001),F(77,5)], level=950_000), student_quantile(987_654, 11))"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "LC_ALL": locale, "TZ": zone, "PYTHONHASHSEED": seed, "PYTHONPATH": str(ROOT)},
            check=True,
            capture_output=True,
            cwd=ROOT,
        ).stdout
        for locale, zone, seed in [
            ("C", "UTC", "1"),
            ("C.UTF-8", "Pacific/Chatham", "2"),
            ("de_DE.UTF-8", "Asia/Tokyo", "3"),
        ]
    }
    assert len(outputs) == 1
