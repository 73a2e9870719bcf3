"""The Merkle tree against the definitions of RFC 9162, written out recursively, and against pymerkle."""

from __future__ import annotations

from hashlib import sha256

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pymerkle import InmemoryTree

from ledger.log import merkle
from store.errors import LogInvalid

MOST = 130
ENTRIES = [b"entry %d" % number for number in range(MOST)]
LEAVES = [merkle.leaf_hash(entry) for entry in ENTRIES]


def naive_root(entries):
    """MTH of RFC 9162, section 2.1.1, word for word."""
    if not entries:
        return sha256(b"").digest()
    if len(entries) == 1:
        return sha256(b"\x00" + entries[0]).digest()
    k = largest_power_below(len(entries))
    return sha256(b"\x01" + naive_root(entries[:k]) + naive_root(entries[k:])).digest()


def naive_path(index, entries):
    """PATH of RFC 9162, section 2.1.3.1, word for word."""
    if len(entries) == 1:
        return []
    k = largest_power_below(len(entries))
    if index < k:
        return [*naive_path(index, entries[:k]), naive_root(entries[k:])]
    return [*naive_path(index - k, entries[k:]), naive_root(entries[:k])]


def naive_subproof(old, entries, known):
    """SUBPROOF of RFC 9162, section 2.1.4.1, word for word."""
    if old == len(entries):
        return [] if known else [naive_root(entries)]
    k = largest_power_below(len(entries))
    if old <= k:
        return [*naive_subproof(old, entries[:k], known), naive_root(entries[k:])]
    return [*naive_subproof(old - k, entries[k:], known=False), naive_root(entries[:k])]


def largest_power_below(number):
    power = 1
    while power * 2 < number:
        power *= 2
    return power


def node(level, index):
    """Complete subtrees, computed from the entries each time they are asked for."""
    return merkle.root(LEAVES[index << level : (index + 1) << level])


def test_the_hashes_are_those_of_the_rfc():
    assert merkle.EMPTY_ROOT.hex() == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    assert merkle.leaf_hash(b"").hex() == "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d"
    assert merkle.root([]) == merkle.EMPTY_ROOT
    assert merkle.root([merkle.leaf_hash(b"")]) == merkle.leaf_hash(b"")
    a, b, c = (merkle.leaf_hash(entry) for entry in (b"a", b"b", b"c"))
    assert merkle.root([a, b, c]) == merkle.node_hash(merkle.node_hash(a, b), c)


@pytest.mark.parametrize("size", range(MOST + 1))
def test_roots_are_those_of_the_definition(size):
    expected = naive_root(ENTRIES[:size])
    assert merkle.root(LEAVES[:size]) == expected
    assert merkle.root_at(node, size) == expected
    frontier = merkle.Frontier()
    frontier.extend(LEAVES[:size])
    assert frontier.root() == expected
    assert merkle.Frontier(size, [node(*peak) for peak in merkle.peaks(0, size)]).root() == expected


@pytest.mark.parametrize("size", [*range(1, 34), 63, 64, 65, 127, 128, 129, 130])
def test_every_inclusion_proof_is_that_of_the_definition_and_verifies(size):
    root = naive_root(ENTRIES[:size])
    for index in range(size):
        path = merkle.inclusion_proof(node, index, size)
        assert path == naive_path(index, ENTRIES[:size])
        merkle.verify_inclusion(LEAVES[index], index, size, path, root)


@pytest.mark.parametrize("new", [*range(1, 34), 63, 64, 65, 127, 128, 129, 130])
def test_every_consistency_proof_is_that_of_the_definition_and_verifies(new):
    roots = [merkle.root(LEAVES[:size]) for size in range(new + 1)]
    for old in range(1, new):
        path = merkle.consistency_proof(node, old, new)
        assert path == naive_subproof(old, ENTRIES[:new], known=True)
        merkle.verify_consistency(old, new, roots[old], roots[new], path)


@pytest.mark.parametrize("size", range(1, MOST + 1))
def test_all_proofs_to_130_verify_and_no_other_place_passes(size):
    leaves = {(level, index): node(level, index) for level in range(8) for index in range(MOST >> level)}
    look = lambda level, index: leaves[level, index]  # noqa: E731
    root = merkle.root_at(look, size)
    for index in range(size):
        path = merkle.inclusion_proof(look, index, size)
        merkle.verify_inclusion(LEAVES[index], index, size, path, root)
        with pytest.raises(LogInvalid):
            merkle.verify_inclusion(LEAVES[index], (index + 1) % size if size > 1 else 1, size, path, root)
    for old in range(size + 1):
        merkle.verify_consistency(old, size, merkle.root_at(look, old), root, merkle.consistency_proof(look, old, size))


def test_size_zero_has_a_path_of_its_own():
    merkle.verify_consistency(0, 0, merkle.EMPTY_ROOT, merkle.EMPTY_ROOT, [])
    merkle.verify_consistency(0, 3, merkle.EMPTY_ROOT, merkle.root(LEAVES[:3]), [])
    with pytest.raises(LogInvalid, match="another"):
        merkle.verify_consistency(0, 3, LEAVES[0], merkle.root(LEAVES[:3]), [])
    with pytest.raises(LogInvalid, match="empty"):
        merkle.verify_consistency(0, 3, merkle.EMPTY_ROOT, merkle.root(LEAVES[:3]), [LEAVES[0]])
    with pytest.raises(LogInvalid, match="no entry"):
        merkle.verify_inclusion(LEAVES[0], 0, 0, [], merkle.EMPTY_ROOT)
    with pytest.raises(LogInvalid, match="no entry"):
        merkle.inclusion_proof(node, 0, 0)


@pytest.mark.parametrize(("old", "new"), [(3, 2), (-1, 2)])
def test_a_tree_does_not_shrink(old, new):
    with pytest.raises(LogInvalid):
        merkle.verify_consistency(old, new, LEAVES[0], LEAVES[1], [])
    with pytest.raises(LogInvalid):
        merkle.consistency_proof(node, old, new)


def test_one_size_has_one_root():
    with pytest.raises(LogInvalid, match="two roots"):
        merkle.verify_consistency(2, 2, LEAVES[0], LEAVES[1], [])


@pytest.mark.parametrize("wrong", [b"", b"x" * 31, b"x" * 33])
def test_all_hashes_are_32_bytes(wrong):
    root = merkle.root(LEAVES[:2])
    with pytest.raises(LogInvalid, match="32 bytes"):
        merkle.verify_inclusion(LEAVES[0], 0, 2, [wrong], root)
    with pytest.raises(LogInvalid, match="32 bytes"):
        merkle.verify_inclusion(wrong, 0, 2, [LEAVES[1]], root)
    with pytest.raises(LogInvalid, match="32 bytes"):
        merkle.verify_consistency(1, 2, LEAVES[0], root, [wrong])


@settings(deadline=None)
@given(st.data())
def test_a_changed_proof_never_verifies(data):
    size = data.draw(st.integers(2, MOST))
    index = data.draw(st.integers(0, size - 1))
    root = merkle.root(LEAVES[:size])
    path = merkle.inclusion_proof(node, index, size)
    kind = data.draw(st.sampled_from(["flip", "drop", "add", "leaf"]))
    place = data.draw(st.integers(0, len(path) - 1))
    leaf = LEAVES[index]
    if kind == "flip":
        path[place] = sha256(path[place]).digest()
    elif kind == "drop":
        del path[place]
    elif kind == "add":
        path.insert(place, LEAVES[0])
    else:
        leaf = sha256(leaf).digest()
    with pytest.raises(LogInvalid):
        merkle.verify_inclusion(leaf, index, size, path, root)


@settings(deadline=None)
@given(st.data())
def test_a_changed_consistency_proof_never_verifies(data):
    new = data.draw(st.integers(2, MOST))
    old = data.draw(st.integers(1, new - 1))
    path = merkle.consistency_proof(node, old, new)
    place = data.draw(st.integers(0, len(path) - 1))
    kind = data.draw(st.sampled_from(["flip", "drop", "add"]))
    if kind == "flip":
        path[place] = sha256(path[place]).digest()
    elif kind == "drop":
        del path[place]
    else:
        path.insert(place, LEAVES[0])
    with pytest.raises(LogInvalid):
        merkle.verify_consistency(old, new, merkle.root(LEAVES[:old]), merkle.root(LEAVES[:new]), path)


@pytest.mark.parametrize("size", [1, 2, 3, 7, 8, 100])
def test_an_implementation_that_is_not_ours_agrees(size):
    theirs = InmemoryTree(algorithm="sha256")
    for entry in ENTRIES[:size]:
        theirs.append_entry(entry)
    assert theirs.get_root() == merkle.root(LEAVES[:size])


def test_a_frontier_knows_how_many_peaks_it_has():
    with pytest.raises(ValueError, match="2 peaks"):
        merkle.Frontier(3, [LEAVES[0]])
