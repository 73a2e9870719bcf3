"""`frozen.json` and `checks.json`: read back as written, and turned into a record."""

from __future__ import annotations

import pytest

from cases.reconstruct.frozen import Checks, FrozenCase
from ledger.records import kinds
from store.digest import Digest
from store.errors import InputError, SchemaError


def digest(name):
    return Digest.of(name.encode())


FROZEN = FrozenCase(
    id="bindery",
    version=2,
    track="frozen-evidence/reconstruct",
    title="A bookbinder’s page",
    package=digest("package"),
    evidence=digest("evidence"),
    starter=digest("starter"),
    contract=digest("contract"),
    plan=digest("plan"),
    commitment=digest("commitment"),
    kit=digest("kit"),
    source=digest("source"),
    limits=kinds.Limits(seconds=60, memory=1 << 30, cpus=1500, pids=99, workspace=1 << 20),
    dimensions=("global_visual", "policy"),
    environment=kinds.RenderEnvironment(
        image=digest("image"),
        browser="Chromium 140",
        fonts=digest("fonts"),
        driver=digest("driver"),
        seccomp=digest("seccomp"),
        backend="docker",
    ),
)


def test_a_frozen_case_is_read_back_as_it_was_written():
    assert FrozenCase.parse(FROZEN.format()) == FROZEN
    assert FrozenCase.parse(FROZEN.format()).format() == FROZEN.format()


def test_checks_are_read_back_as_they_were_written():
    checks = Checks(FROZEN.digest, (kinds.Check(agent="oracle", run=1, score=1_000_000),))
    assert Checks.parse(checks.format()) == checks


def test_the_record_says_what_was_frozen():
    checks = [kinds.Check(agent="noop", run=1, score=0)]
    body = FROZEN.body(
        ledger="o", after=None, issued_at="t", checks=checks, source=digest("s"), supersedes=digest("v1")
    )
    assert (body.id, body.version, body.title, body.source) == ("bindery", 2, FROZEN.title, digest("s"))
    assert body.sealed == kinds.Sealed(commitment=FROZEN.commitment, kit=FROZEN.kit)
    assert (body.checks, body.supersedes) == (checks, digest("v1"))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b'"rbl/frozen/v1"', b'"rbl/frozen/v2"'),
        (b'"version":2', b'"version":"2"'),
        (b'"kit":"sha256:', b'"kit":"md5:'),
        (b'"title":', b'"titel":'),
        (b'"pids":99', b'"pids":99.5'),
        (b'{"case"', b'{ "case"'),
    ],
)
def test_other_shapes_are_refused(old, new):
    data = FROZEN.format()
    assert old in data
    with pytest.raises(InputError):
        FrozenCase.parse(data.replace(old, new))


def test_checks_without_their_case_are_refused():
    with pytest.raises(SchemaError):
        Checks.parse(b'{"checks":[],"schema":"rbl/checks/v1"}')
