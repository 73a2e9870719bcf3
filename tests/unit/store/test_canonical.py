import pytest

from store import canonical
from store.errors import CanonicalError


def test_writes_the_bytes_of_rfc_8785():
    value = {
        "b": [True, None, '€$\u000f\nA\'B"\\\\"/'],
        "a": {"2": 1, "10": -5},
        "": "\ud83d\ude02".encode("utf-16", "surrogatepass").decode("utf-16"),
    }
    expected = '{"":"😂","a":{"10":-5,"2":1},"b":[true,null,"€$\\u000f\\nA\'B\\"\\\\\\\\\\"/"]}'
    assert canonical.dumps(value).decode() == expected
    assert canonical.loads(expected.encode()) == value


@pytest.mark.parametrize(
    "value",
    [1.0, float("nan"), 2**53, -(2**53), "\ud800", {"é": 1}, {1: 2}, {"a": (1, 2)}, b"x", [[{"a": 0.5}]]],
)
def test_what_is_outside_the_subset_is_not_written(value):
    with pytest.raises(CanonicalError):
        canonical.dumps(value)


def test_nesting_has_an_end_in_both_directions():
    deep: list[object] = []
    for _ in range(70):
        deep = [deep]
    with pytest.raises(CanonicalError):
        canonical.dumps(deep)
    for depth in (70, 100_000):
        with pytest.raises(CanonicalError):
            canonical.loads(b"[" * depth + b"]" * depth)


@pytest.mark.parametrize(
    "data",
    [
        b"", b" 1", b"1 ", b"1.0", b"1e2", b"-0", b"01", b"9007199254740992", b"NaN", b"Infinity", b'{"a":1,"a":1}',
        b'{"b":1,"a":1}', b'{"a": 1}', b'"\\u0041"', b'"\\/"', b'"\\ud800"', b"\xef\xbb\xbf1", b"\xff", b'"\\u00e9"',
        b"9" * 5000,
    ],
)  # fmt: skip
def test_what_is_not_canonical_is_not_read(data):
    with pytest.raises(CanonicalError):
        canonical.loads(data)


def test_the_error_names_the_place():
    with pytest.raises(CanonicalError, match="/a/1"):
        canonical.dumps({"a": [0, 0.5]})
