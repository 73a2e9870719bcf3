"""A policy says whose signatures a head needs (C2SP tlog-policy); what it does not say to the letter is refused."""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from ledger.log.checkpoint import Checkpoint, sign_checkpoint
from ledger.log.cosignature import CosignerKey, cosign
from ledger.log.note import Note, NoteSignature, VerifierKey
from ledger.log.policy import Policy
from ledger.records.keys import Signer
from store.digest import Digest
from store.errors import InputError, LogInvalid

ORIGIN = "example.org/bench"
LOG = Signer.from_seed(b"l" * 32)
LOG_KEY = VerifierKey(ORIGIN, LOG.public)
SIGNERS = {name: Signer.from_seed(name.encode() * 32) for name in "abcdef"}
KEYS = {name: CosignerKey(f"witness.example/{name}", signer.public) for name, signer in SIGNERS.items()}
HEAD = Checkpoint(ORIGIN, 41, Digest.of(b"root"))
BARE = Note.parse(sign_checkpoint(HEAD, LOG))
LINES = "".join(f"witness {name} {key}\n" for name, key in KEYS.items())
TWO_OF_THREE = f"log {LOG_KEY}\n{LINES}group g 2 a b c\nquorum g\n"


def policy(text):
    return Policy.parse(text.encode())


def cosigned(names, note=BARE):
    for name in names:
        note = note.signed_also(cosign(HEAD, KEYS[name].name, SIGNERS[name], 1679315147))
    return note


def judged(text, names, note=BARE):
    return policy(text).judge(cosigned(names, note), ORIGIN)


@pytest.mark.parametrize(
    ("names", "ok"),
    [("", False), ("a", False), ("ad", False), ("def", False), ("ab", True), ("cb", True), ("abcdef", True)],
)
def test_two_of_three(names, ok):
    found = judged(TWO_OF_THREE, names)
    assert found.ok is ok
    assert found.cosigned == tuple(sorted(names))
    assert bool(found.missing) is not ok


def test_one_witness_twice_is_one_witness():
    again = cosigned("a").signed_also(cosign(HEAD, KEYS["a"].name, SIGNERS["a"], 1779315147))
    found = policy(TWO_OF_THREE).judge(again, ORIGIN)
    assert (found.ok, found.cosigned) == (False, ("a",))
    assert "2 of 3 members needed" in found.missing


@pytest.mark.parametrize(
    ("names", "ok"), [("abd", True), ("bcf", True), ("ab", False), ("ad", False), ("def", False), ("abcdef", True)]
)
def test_groups_of_groups(names, ok):
    text = f"{LINES}group x 2 a b c\ngroup y any d e f\ngroup both all x y\nquorum both\n"
    assert judged(text, names).ok is ok


def test_a_quorum_may_be_one_witness_or_none():
    assert judged(f"{LINES}quorum b\n", "b").ok
    assert not judged(f"{LINES}quorum b\n", "acdef").ok
    assert judged("quorum none\n", "").ok


def test_a_log_that_is_named_must_have_signed():
    other = Signer.from_seed(b"o" * 32)
    unsigned = Note.parse(sign_checkpoint(HEAD, other))
    found = judged(TWO_OF_THREE, "abc", unsigned)
    assert (found.ok, found.missing) == (False, "no log that the policy names has signed it")
    without = TWO_OF_THREE.partition("\n")[2]
    assert judged(without, "abc", unsigned).ok
    namesake = VerifierKey("example.org/other", LOG.public)
    assert not judged(f"log {namesake}\nquorum none\n", "").ok
    both = f"log {namesake}\nlog {VerifierKey(ORIGIN, other.public)}\nquorum none\n"
    assert judged(both, "", unsigned).ok


def test_a_cosignature_of_another_head_rejects_the_note():
    other = cosign(Checkpoint(ORIGIN, 42, HEAD.root), KEYS["a"].name, SIGNERS["a"], 1679315147)
    with pytest.raises(LogInvalid) as caught:
        policy(TWO_OF_THREE).judge(cosigned("bc").signed_also(other), ORIGIN)
    assert caught.value.rule == "note-signature"


def test_signatures_of_unknown_keys_and_of_a_known_name_are_passed_over():
    strange = NoteSignature(KEYS["a"].name, b"1234", b"x" * 2428)  # of a longer kind, by the same name
    assert judged(TWO_OF_THREE, "ab", BARE.signed_also(strange)).ok


def test_what_may_be_written_freely():
    text = (
        f" \t# Zeuge\n\n  log\t{LOG_KEY}  https://log.example/ \n"
        f"witness \u212a {KEYS['a']} https://w.example/\nwitness K {KEYS['b']}\ngroup g all K \u212a\nquorum g\n"
    ).encode() + b"# opaque: \xff\xfe\n"
    found = Policy.parse(text)
    assert found.judge(cosigned("ab"), ORIGIN).ok
    assert not found.judge(cosigned("b"), ORIGIN).ok
    assert ([*found.urls.values()], [*found.log_urls.values()]) == (["https://w.example/"], ["https://log.example/"])
    assert Policy.parse(found.format()) == found


def test_as_many_as_the_specification_recommends():
    keys = [CosignerKey(f"w{n}", Signer.from_seed(bytes([n]) * 32).public) for n in range(1, 65)]
    logs = [VerifierKey(f"l{n}", Signer.from_seed(bytes([n]) * 32).public) for n in range(65, 129)]
    lines = [*(f"log {key}" for key in logs), *(f"witness {key.name} {key}" for key in keys)]
    lines += [f"group g{n} all w{n}" + (f" g{n - 1}" if n > 1 else "") for n in range(1, 65)]
    assert len(policy("\n".join([*lines, "quorum g64", ""])).groups) == 64


A, B = KEYS["a"], KEYS["b"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "no quorum"),
        (f"witness a {A}\n", "no quorum"),
        ("quorum none", "does not end"),
        ("quorum none\nquorum none\n", "second quorum"),
        ("quorum a\n", "not defined above"),
        (f"quorum a\nwitness a {A}\n", "not defined above"),
        (f"witness none {A}\nquorum none\n", "taken"),
        (f"witness a {A}\nwitness a {B}\nquorum a\n", "taken"),
        (f"witness a {A}\ngroup a 1 a\nquorum a\n", "taken"),
        (f"witness a {A}\nwitness b {A}\nquorum a\n", "listed twice"),
        (f"witness a {A}\nwitness b {CosignerKey('other', A.public)}\nquorum a\n", "listed twice"),
        (f"log {LOG_KEY}\nlog {VerifierKey('x', LOG.public)}\nquorum none\n", "listed twice"),
        (f"witness a {A}\ngroup g 0 a\nquorum g\n", "not a threshold"),
        (f"witness a {A}\ngroup g 2 a\nquorum g\n", "not a threshold"),
        (f"witness a {A}\ngroup g 01 a\nquorum g\n", "not a threshold"),
        (f"witness a {A}\ngroup g +1 a\nquorum g\n", "not a threshold"),
        (f"witness a {A}\ngroup g most a\nquorum g\n", "not a threshold"),
        ("group g any\nquorum g\n", "not a threshold"),
        ("group g any none\nquorum g\n", "not defined above"),
        (f"witness a {A}\ngroup g any a a\nquorum g\n", "a member already"),
        (f"witness a {A}\ngroup g any a\ngroup h any a\nquorum h\n", "a member already"),
        (f"witness a {A}\ngroup g any g\nquorum g\n", "not defined above"),
        (f"log {A}\nquorum none\n", "verifier key"),
        (f"witness a {LOG_KEY}\nquorum a\n", "witness key"),
        (f"witness a {str(A)[:-1]}\nquorum a\n", "witness key"),
        (f"witness a {A} https://x y\nquorum a\n", "not a line of a policy"),
        (f"witness {A}\nquorum none\n", "not a line of a policy"),
        ("quorum\n", "not a line of a policy"),
        ("Quorum none\n", "not a line of a policy"),
        ("quorum none # all\n", "not a line of a policy"),
        ("quorum none\r\n", "control character"),
        ("quorum\x0bnone\n", "control character"),
        ("# \x7f\nquorum none\n", "control character"),
        ("quorum\u00a0none\n", "not a line of a policy"),
    ],
)  # fmt: skip
def test_what_is_no_policy_is_refused(text, said):
    with pytest.raises(InputError, match=said):
        policy(text)


WORDS = [
    b"log",
    b"witness",
    b"group",
    b"quorum",
    b"none",
    b"any",
    b"all",
    b"0",
    b"1",
    b"2",
    b"a",
    b"b",
    b"g",
    b" ",
    b" ",
    b"\t",
]
WORDS += [
    b"\n",
    b"\n",
    b"#",
    str(A).encode(),
    str(B).encode(),
    str(LOG_KEY).encode(),
    b"\xff",
    b"\r",
    b"+",
    b"https://x",
]


@settings(deadline=None, max_examples=200)
@given(st.lists(st.sampled_from(WORDS), max_size=40).map(b"".join))
@example(TWO_OF_THREE.encode())
def test_any_words_are_a_policy_that_can_be_written_again_or_an_input_error(data):
    try:
        found = Policy.parse(data)
    except InputError:
        return
    assert Policy.parse(found.format()) == found
    assert found.judge(BARE, ORIGIN).ok is (found.quorum == "none" and (not found.logs or LOG_KEY in found.logs))


@settings(deadline=None, max_examples=200)
@given(st.integers(0, len(TWO_OF_THREE) - 1), st.binary(max_size=3))
def test_a_changed_policy_is_read_to_the_letter_or_refused(at, piece):
    raw = TWO_OF_THREE.encode()
    try:
        found = Policy.parse(raw[:at] + piece + raw[at + 1 :])
    except InputError:
        return
    assert Policy.parse(found.format()) == found
