"""The sealed kit: one form, one digest, closed to everyone but the evaluator."""

from __future__ import annotations

import io
import json
import re
import tarfile
from dataclasses import replace

import pytest

from cases.contract import Locator
from cases.kit import Assertion, Kit, Region, commitment, new_identity, open_kit, seal, unseal, viewport_of
from schemas.registry import page
from store import canonical
from store.errors import InputError, RblError, SchemaError, Unavailable

SHOT = "home.desktop.initial"
FILES = {"full.png": b"full", "nt.png": b"nt", "bare.png": b"bare", "page.json": b"{}"}
SALT = bytes(range(32))


@pytest.fixture
def kit():
    return Kit(
        case="pricing",
        version=1,
        regions=(Region("nav", SHOT, (0, 0, 640, 64), Locator(css="nav"), 2),),
        assertions=(
            Assertion("total", SHOT, "functional", Locator(testid="total"), "text", value="€ 120", weight=3),
            Assertion("kept", SHOT, "workflow", None, "storage", attribute="local:billing", value="yearly"),
        ),
        viewports={"desktop": 1},
        main=SHOT,
        responsive=(SHOT,),
    )


@pytest.fixture
def packed(kit):
    return kit.pack(SALT, {SHOT: FILES}, {SHOT: FILES}, b'{"widths":[]}')


def test_what_is_formatted_is_parsed_again(kit):
    assert Kit.parse(kit.format()) == kit


def test_what_is_packed_is_opened_again(kit, packed):
    opened = open_kit(packed)
    assert opened.kit == kit
    assert opened.salt == SALT
    assert opened.references == {SHOT: FILES}
    assert opened.starters == {SHOT: FILES}
    assert opened.reference_sweep == b'{"widths":[]}'


def test_packing_is_deterministic_whatever_the_order_of_its_arguments(kit, packed):
    backwards = dict(reversed(FILES.items()))
    assert kit.pack(SALT, {SHOT: backwards}, {SHOT: backwards}, b'{"widths":[]}') == packed


def test_the_salt_is_the_first_member_and_no_member_tells_when_or_who(packed):
    with tarfile.open(fileobj=io.BytesIO(packed)) as tar:
        members = tar.getmembers()
    assert members[0].name == "salt"
    assert {(member.mtime, member.uid, member.uname, member.mode) for member in members} == {(0, 0, "", 0o444)}


def test_another_salt_is_another_commitment(kit, packed):
    other = kit.pack(bytes(32), {SHOT: FILES}, {SHOT: FILES}, b'{"widths":[]}')
    assert commitment(other) != commitment(packed)


def test_a_changed_byte_is_refused_or_changes_the_commitment(packed):
    refused = 0
    for at in range(0, len(packed), 97):
        changed = bytearray(packed)
        changed[at] ^= 1
        assert commitment(bytes(changed)) != commitment(packed)
        try:
            open_kit(bytes(changed))
        except RblError:
            refused += 1
    assert refused > len(range(0, len(packed), 97)) // 2


@pytest.mark.parametrize("data", [b"", b"not a tar", bytes(10240)])
def test_what_is_no_kit_is_refused(data):
    with pytest.raises(InputError):
        open_kit(data)


def test_a_tar_in_another_form_is_refused(packed):
    out = io.BytesIO()
    with tarfile.open(fileobj=io.BytesIO(packed)) as tar, tarfile.open(fileobj=out, mode="w") as copy:
        for member in tar:
            member.mtime = 1
            copy.addfile(member, tar.extractfile(member))
    with pytest.raises(InputError, match="form that packing writes"):
        open_kit(out.getvalue())


@pytest.mark.parametrize(
    ("references", "salt"),
    [({}, SALT), ({SHOT: {"full.png": b""}}, SALT), ({SHOT: FILES}, b"short"), ({SHOT: FILES, "home": FILES}, SALT)],
)
def test_an_incomplete_kit_is_not_packed(kit, references, salt):
    with pytest.raises(InputError):
        kit.pack(salt, references, {}, b"{}")


@pytest.mark.parametrize(
    "change",
    [
        {"regions": (Region("nav", SHOT, (0, 0, 0, 64), None, 1),)},
        {"regions": (Region("nav", SHOT, (0, 0, 10, 64), None, 0),)},
        {"regions": (Region("Nav", SHOT, (0, 0, 10, 64), None, 1),)},
        {"assertions": (Assertion("a", SHOT, "functional", None, "visible"),)},
        {"assertions": (Assertion("a", SHOT, "functional", Locator(text="a"), "url", value="/"),)},
        {"assertions": (Assertion("a", SHOT, "functional", Locator(text="a"), "count", value="3"),)},
        {"assertions": (Assertion("a", SHOT, "functional", Locator(text="a"), "attribute"),)},
        {"assertions": (Assertion("a", SHOT, "functional", None, "storage", attribute="cookie:a"),)},
        {"origins": ("ftp://example.org",)},
        {"main": "home"},
    ],
)
def test_a_kit_that_cannot_be_meant_is_refused(kit, change):
    with pytest.raises(SchemaError):
        replace(kit, **change).format()


def test_a_responsive_shot_needs_the_weight_of_its_viewport(kit):
    with pytest.raises(InputError, match="no weight"):
        replace(kit, responsive=("home.phone.initial",))


def test_names_are_unique(kit):
    with pytest.raises(InputError, match="named twice"):
        replace(kit, regions=kit.regions * 2)


def test_shots_are_those_that_are_judged(kit):
    assert kit.shots == (SHOT,)
    assert kit.pictured == (SHOT,)
    assert viewport_of(SHOT) == "desktop"


def test_only_the_identity_opens_what_is_sealed(packed):
    identity, recipient = new_identity()
    other, _ = new_identity()
    sealed = seal(packed, recipient)
    assert packed not in sealed
    assert unseal(sealed, identity) == packed
    assert unseal(sealed, f"# created: today\n{identity}\n") == packed
    with pytest.raises(Unavailable):
        unseal(sealed, other)
    with pytest.raises(Unavailable):
        unseal(sealed[:-1], identity)


@pytest.mark.parametrize("call", [lambda: seal(b"", "age1nobody"), lambda: unseal(b"", "secret")])
def test_what_is_no_key_is_refused(call):
    with pytest.raises(InputError):
        call()


def test_the_salt_does_not_show(packed):
    assert SALT.hex() not in repr(open_kit(packed))
    assert repr(SALT) not in repr(open_kit(packed))


def test_the_example_of_the_page_is_a_kit():
    example = re.search(r"```json\n(.*?)```", page("kit"), re.DOTALL)
    assert Kit.parse(canonical.dumps(json.loads(example[1]))).main == SHOT
