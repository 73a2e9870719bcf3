"""The aggregation rule: equal to a recomputation written another way, and exact."""

from __future__ import annotations

import math
from collections import defaultdict
from decimal import ROUND_HALF_EVEN, Decimal, getcontext
from fractions import Fraction

from hypothesis import given, settings
from hypothesis import strategies as st

from ledger.release.aggregate import Counted, Rules, aggregate
from ledger.release.outcome import BUCKETS

RULES = Rules(repeats=3, min_valid=1, level=950_000)


def one(entry, case, repeat, bucket="scored", total=None, number=1, closed=None, **dimensions):
    return Counted(
        entry=entry,
        case=case,
        repeat=repeat,
        number=number,
        bucket=bucket,
        total=total if bucket == "scored" else None,
        closed_total=closed if closed is not None else (total if bucket == "scored" else None),
        dimensions=dimensions if bucket == "scored" else {},
    )


def test_cases_weigh_the_same_whatever_their_attempts():
    results = [one("a", "x", 1, total=900_000), one("a", "x", 2, total=900_000), one("a", "x", 3, total=900_000)]
    results += [one("a", "y", 1, total=100_000), one("a", "y", 2, "timeout"), one("a", "y", 3, "timeout")]
    (row,) = aggregate(RULES, {"x": True, "y": True}, ["a"], results)
    assert row.score == 500_000
    assert row.worst == (900_000 + 33_333) // 2 + 1  # (900000 + 100000/3) / 2 = 466666.67
    assert row.valid_rate == 666_667
    assert row.excluded == {"ungradeable": 0, "timeout": 333_333, "harness-failure": 0, "withdrawn": 0}


def test_an_entry_that_misses_a_case_is_shown_and_not_ranked():
    results = [one("a", "x", 1, total=999_999), one("b", "x", 1, total=5), one("b", "y", 1, total=7)]
    rows = aggregate(RULES, {"x": True, "y": True}, ["a", "b"], results)
    assert [(row.entry, row.rank, row.score) for row in rows] == [("b", 1, 6), ("a", None, 999_999)]


def test_coverage_needs_min_valid_scored_attempts():
    rules = Rules(repeats=3, min_valid=2, level=950_000)
    (row,) = aggregate(rules, {"x": True}, ["a"], [one("a", "x", 1, total=10), one("a", "x", 2, "ungradeable")])
    assert (row.rank, row.score, row.covered) == (None, None, 0)


def test_a_withdrawn_case_weighs_nothing_and_is_still_printed():
    results = [one("a", "x", 1, total=400_000), one("a", "y", 1, "withdrawn", closed=1)]
    (row,) = aggregate(RULES, {"x": True, "y": False}, ["a"], results)
    assert (row.rank, row.score, row.active, row.scheduled) == (1, 400_000, 1, 6)
    assert row.before_withdrawals == 200_000  # 200,000.5, half to even
    assert [case.active for case in row.cases] == [True, False]


def test_no_active_case_ranks_nobody():
    (row,) = aggregate(RULES, {"x": False}, ["a"], [])
    assert (row.rank, row.score, row.worst) == (None, None, None)


def test_both_figures_are_shown_when_an_attempt_was_withdrawn():
    results = [one("a", "x", 1, total=1_000_000), one("a", "x", 2, "withdrawn", closed=0)]
    (row,) = aggregate(RULES, {"x": True}, ["a"], results)
    assert (row.score, row.before_withdrawals) == (1_000_000, 500_000)


def test_ties_share_a_rank_and_are_decided_on_exact_means():
    rules = Rules(repeats=3, min_valid=1, level=950_000)
    third = [one("a", "x", n, total=value) for n, value in enumerate([1, 0, 0], 1)]
    same = [one("b", "x", n, total=value) for n, value in enumerate([0, 1, 0], 1)]
    less = [one("c", "x", n, total=0) for n in (1, 2, 3)]  # rounds to the same 0
    rows = aggregate(rules, {"x": True}, ["c", "b", "a"], third + same + less)
    assert [(row.entry, row.rank, row.score) for row in rows] == [("a", 1, 0), ("b", 1, 0), ("c", 3, 0)]


def test_halves_are_rounded_to_even_once_at_the_end():
    rules = Rules(repeats=2, min_valid=1, level=950_000)
    # case means 1/2 and 5/2 would round to 0 and 2 and give 1; exact they give 3/2, rounded to 2
    results = [
        one("a", "x", 1, total=0),
        one("a", "x", 2, total=1),
        one("a", "y", 1, total=2),
        one("a", "y", 2, total=3),
    ]
    (row,) = aggregate(rules, {"x": True, "y": True}, ["a"], results)
    assert row.score == 2
    assert [case.mean for case in row.cases] == [0, 2]


def test_a_retried_try_is_counted_and_its_slot_ends_with_the_last():
    results = [
        one("a", "x", 1, "harness-failure-retried", number=1),
        one("a", "x", 1, total=300_000, number=2),
        one("a", "x", 2, "harness-failure-exhausted"),
        one("a", "x", 3, "ungradeable"),
    ]
    (row,) = aggregate(RULES, {"x": True}, ["a"], results)
    assert row.opened == 4 == sum(row.counts.values())
    assert (row.scheduled, row.valid) == (3, 1)
    assert row.excluded["harness-failure"] == row.excluded["ungradeable"] == 333_333


plans = st.lists(
    st.tuples(
        st.sampled_from("abc"),
        st.sampled_from("vwxyz"),
        st.integers(1, 3),
        st.sampled_from([*BUCKETS, "scored", "scored", "scored"]),
        st.integers(0, 1_000_000),
    ),
    max_size=60,
    unique_by=lambda item: item[:3],
)


@settings(max_examples=150, deadline=None)
@given(plans, st.sets(st.sampled_from("vwxyz")), st.integers(1, 3))
def test_numbers_equal_a_recomputation_in_decimal(plan, inactive, min_valid):
    getcontext().prec = 50
    rules = Rules(repeats=3, min_valid=min_valid, level=950_000)
    cases = {name: name not in inactive for name in "vwxyz"}
    rows = aggregate(
        rules, cases, list("abc"), [one(e, c, r, bucket, total=t, functional=t // 2) for e, c, r, bucket, t in plan]
    )
    active = [name for name in cases if cases[name]]
    assert sorted(row.entry for row in rows) == list("abc")
    exact = {}
    for row in rows:
        totals = defaultdict(list)
        for e, c, _, bucket, t in plan:
            if e == row.entry and bucket == "scored":
                totals[c].append(t)
        means = [Decimal(math.fsum(totals[c])) / len(totals[c]) for c in active if len(totals[c]) >= min_valid]
        expected = int((sum(means) / len(means)).quantize(Decimal(1), ROUND_HALF_EVEN)) if means else None
        assert row.score == expected
        assert (row.rank is not None) == (bool(active) and len(means) == len(active))
        if row.rank is not None:
            exact[row.entry] = sum(Fraction(sum(totals[c]), len(totals[c])) for c in active)
        if active:
            assert abs(row.worst - sum(sum(totals[c]) for c in active) / 3 / len(active)) <= 0.5
        assert row.valid == sum(len(found) for found in totals.values())
        assert sum(row.counts.values()) == row.opened == sum(item[0] == row.entry for item in plan)
        assert (row.interval is None) == (len(means) < 2)
        dims = [Fraction(sum(t // 2 for t in totals[c]), len(totals[c])) for c in active if len(totals[c]) >= min_valid]
        assert row.dimensions == ({"functional": round(sum(dims) / len(dims))} if dims else {})
    for row in rows:
        if row.rank is not None:
            assert row.rank == 1 + sum(value > exact[row.entry] for value in exact.values())


@settings(max_examples=40, deadline=None)
@given(plans, st.randoms())
def test_the_order_of_attempts_changes_nothing(plan, random):
    results = [one(e, c, r, bucket, total=t, functional=t) for e, c, r, bucket, t in plan]
    shuffled = random.sample(results, len(results))
    cases = dict.fromkeys("vwxyz", True)
    assert aggregate(RULES, cases, list("abc"), results) == aggregate(RULES, cases, list("abc"), shuffled)
