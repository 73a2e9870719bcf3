"""The attacks with what is said once attempts are made: reveals, erasures, ballots and calibrations.

Each is one record that no gate would have admitted; see `tests.vectors.attacks` for how they are told.
"""

from __future__ import annotations

import msgspec

from ledger.records import kinds
from store.digest import Digest
from tests.unit.ledger.records.sequel import ballot, calibration, erasure, preferences, reveal
from tests.vectors.attacks import attack, last
from tests.vectors.attempts import again, chain
from tests.vectors.scenes import Scene, planned

but = msgspec.structs.replace
ELSE = Digest.of(b"another")


def judged() -> tuple[Scene, object, object]:
    """Two scored attempts on one case."""
    scene = planned()
    return scene, scene.story.attempt("a", "pricing", 1), scene.story.attempt("a", "pricing", 2)


@attack(None, "nothing: a case is retired and its kit revealed, an object erased, ballots fitted", "control")
def sound_afterwards():
    scene, one, other = judged()
    case = scene.story.cases["pricing"]
    batch = scene.say(lambda base: preferences(base, ballot(one.captures, other.captures)))
    scene.say(lambda base: calibration(base, batch))
    scene.say(lambda base: erasure(base, one.closed, one.closed.body.events))
    scene.say(lambda base: reveal(base, case))
    return scene.given()


@attack("revealed", "a kit is revealed while an attempt on its case is open", "the Candidate reads how it is judged")
def revealed_under_an_open_attempt():
    scene = planned()
    scene.story.attempt("a", "pricing", 1, outcome="timeout", close=False)
    scene.force(reveal(scene.base, scene.story.cases["pricing"]))
    return last(scene)


@attack(
    "revealed", "a formal attempt is opened on a case whose kit is in clear", "the Candidate reads how it is judged"
)
def opened_on_a_revealed_kit():
    scene = planned()
    told = scene.story.attempt("a", "pricing", 1)
    scene.say(lambda base: reveal(base, scene.story.cases["pricing"]))
    again(scene, told.opened.body, chain=chain(told.id + "b", 0, None), repeat=2)
    return last(scene)


@attack("commitment", "another kit is revealed than the case committed to", "an easier kit was used all along")
def another_kit_revealed():
    scene = planned()
    scene.force(reveal(scene.base, scene.story.cases["pricing"], kit=ELSE))
    return last(scene)


@attack("unknown-reference", "an erasure cites a record that is not there", "bytes vanish without a trace")
def erased_from_nothing():
    scene = planned()
    case = scene.story.cases["pricing"]
    scene.force(but(erasure(scene.base, case, case.body.package), record=ELSE))
    return last(scene)


@attack("duplicate-reference", "one comparison stands twice in a batch of ballots", "ballot stuffing")
def ballot_cast_twice():
    scene, one, other = judged()
    scene.force(preferences(scene.base, ballot(one.captures, other.captures), ballot(other.captures, one.captures)))
    return last(scene)


@attack("other-case", "a ballot compares pages of two different cases", "ballots that mean nothing")
def ballot_across_cases():
    scene = Scene()
    scene.story.plan(["a"], ["pricing", "docs"], repeats=1)
    one, other = scene.story.attempt("a", "pricing", 1), scene.story.attempt("a", "docs", 1)
    scene.force(preferences(scene.base, ballot(one.captures, other.captures)))
    return last(scene)


@attack("ballots", "a calibration counts fewer ballots than it cites", "ballots that did not please are left out")
def ballots_left_out():
    scene, one, other = judged()
    shots = ("home.desktop.initial", "home.phone.initial")
    cast = [ballot(one.captures, other.captures, shot) for shot in shots]
    batch = scene.say(lambda base: preferences(base, *cast))
    assert isinstance(batch.body, kinds.Preferences)
    scene.force(calibration(scene.base, batch, ballots=1))
    return last(scene)
