"""The attacks on a release: what an operator publishes who computes honestly, from records that he should not count.

    released(scene)       # the release r1 over all that the scene tells, and the folder that goes with it

Their `check` is `release`, and beside the ledger's `given` stand the objects and `releases/r1/`. Where bytes are not
what was announced, one file of the folder is changed; where a rule is broken, release, results and root are recomputed
over the records that break it, so that nothing but the rule can show it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from ledger.log import merkle
from ledger.records import kinds
from ledger.release.draft import Draft
from ledger.release.package import Proofs, format_summary
from store.digest import Digest
from tests.unit.ledger.records.sequel import erasure
from tests.unit.ledger.release.story import Story
from tests.vectors.attacks import Attack
from tests.vectors.scenes import Scene, log_files, node_of, note_of, spoiled

but = msgspec.structs.replace
R1 = "releases/r1"


class ReleaseScene(Scene):
    """A scene that keeps its objects."""

    def __init__(self, repeats: int = 1) -> None:
        super().__init__()
        self.objects: dict[Digest, bytes] = {}
        self.story = Story(self.say, self._put)
        self.story.plan(["a"], ["pricing"], repeats=repeats)

    def _put(self, data: bytes) -> Digest:
        digest = Digest.of(data)
        self.objects[digest] = data
        return digest

    def release(self, change: Callable[[kinds.Release], kinds.Release] = lambda body: body) -> None:
        """Cut r1 over everything so far, whether the rules forbid it or not."""
        draft = Draft.of(self.records, self.head, self.story.schedule.digest)
        record = self.say(
            lambda base: change(
                kinds.Release(
                    **base,
                    name="r1",
                    split=self.story.split.digest,
                    protocol=self.story.protocol.digest,
                    schedule=self.story.schedule.digest,
                    cutoff=draft.cutoff,
                    attempts=draft.attempts,
                    results=self._put(draft.results),
                    leaves=self._put(draft.leaves),
                    root=draft.root,
                )
            )
        )
        node, size = node_of(self.leaves), len(self.leaves)
        proofs = Proofs(
            record=record.digest,
            index=record.index,
            head=self.head,
            cutoff=draft.cutoff,
            inclusion=tuple(merkle.inclusion_proof(node, record.index, size)),
            consistency=tuple(merkle.consistency_proof(node, draft.cutoff.size, size)),
        )
        self.beside |= {
            f"{R1}/release.json": format_summary(record, self.head),
            f"{R1}/results.json": draft.results,
            f"{R1}/leaves.json": draft.leaves,
            f"{R1}/record.dsse": self.leaves[record.index],
            f"{R1}/proofs.json": proofs.format(),
            f"{R1}/checkpoint": note_of(self.leaves),
        }

    def files(self) -> dict[str, bytes]:
        places = {f"objects/sha256/{digest.hex[:2]}/{digest.hex[2:]}": data for digest, data in self.objects.items()}
        return {**super().files(), **places}


def honest(**more: Any) -> ReleaseScene:
    scene = ReleaseScene()
    scene.story.attempt("a", "pricing", 1, **more)
    scene.release()
    return scene


def object_of(scene: ReleaseScene, digest: Digest) -> str:
    assert digest in scene.objects
    return f"objects/sha256/{digest.hex[:2]}/{digest.hex[2:]}"


def _withdrawn() -> ReleaseScene:
    """A withdrawn attempt that the shipped results count."""
    scene = ReleaseScene()
    told = scene.story.attempt("a", "pricing", 1)
    counted = Draft.of(scene.records, scene.head, scene.story.schedule.digest)
    scene.story.withdraw("attempt", told.id, told.closed.digest)
    results = scene._put(counted.results)
    scene.release(lambda body: but(body, results=results, root=counted.root))
    scene.beside[f"{R1}/results.json"] = counted.results
    return scene


def _dropped() -> ReleaseScene:
    """The second of two scheduled repeats was run, and its records were left out of the log."""
    scene = ReleaseScene(repeats=2)
    scene.story.attempt("a", "pricing", 1)
    scene.release()
    return scene


def releases() -> dict[str, Attack]:
    """Name → vector."""
    found: dict[str, Attack] = {}

    def one(name: str, what: str, source: str, scene: ReleaseScene, *places: tuple[str, str], **files: Any) -> None:
        given = {**scene.given(files.get("files")), "release": "r1"}
        found[name] = Attack(what, source, given, None, None, sorted(places))

    good = honest()
    told = good.story.told[0]
    files = good.files()
    shot = told.captures.body.shots[0].tree
    events = told.closed.body.events
    results = f"{R1}/results.json"
    one("release-sound", "nothing: one scored attempt", "control", good)
    one(
        "release-result-edited",
        "a digit of the published results is changed",
        "changed result",
        good,
        ("file", results),
        files={results: files[results].replace(b"500000", b"900000", 1)},
    )
    one(
        "release-object-missing",
        "an object that a record announces is gone",
        "subject whose object is missing",
        good,
        ("object", str(events)),
        files={object_of(good, events): None},
    )
    one(
        "release-object-differs",
        "a bit of an object that a record announces",
        "subject whose object differs",
        good,
        ("object", str(shot)),
        files={object_of(good, shot): spoiled(good.objects[shot], 5)},
    )
    one(
        "release-proof-missing",
        "the proofs are gone",
        "dropped proof",
        good,
        ("file", R1),
        files={f"{R1}/proofs.json": None},
    )
    cut = log_files(good.leaves[:-1])
    one(
        "release-cut-off",
        "the log ends before the release's record",
        "truncation",
        good,
        ("proof", f"{R1}/proofs.json"),
        ("record", "release r1"),
        files=cut,
    )
    one(
        "release-attempt-dropped",
        "of two scheduled repeats one is not in the log at all",
        "dropped attempt",
        _dropped(),
        ("unopened", "a × pricing × 2"),
    )
    one(
        "release-attempt-open",
        "an attempt was opened and never closed",
        "runs vanish",
        honest(close=False),
        ("open", told.id),
    )
    one(
        "release-native-attempt",
        "a formal attempt was made without a container",
        "native attempt counted",
        honest(backend="native"),
        ("container", told.id),
        ("environment", told.id),
    )
    one(
        "release-diagnostic-attempt",
        "the only attempt of a slot is a diagnostic one, which fills none",
        "diagnostic attempt counted",
        honest(purpose="diagnostic"),
        ("unopened", "a × pricing × 1"),
    )
    one(
        "release-other-evaluator",
        "a verdict by another evaluator than the protocol's",
        "protocol mismatch",
        honest(evaluator=Digest.of(b"another")),
        ("verdict", told.id),
    )
    one(
        "release-captured-and-dropped",
        "a captured run is called a harness failure",
        "killing a run whose score is seen",
        honest(outcome="harness-failure", captured=True),
        ("retry", told.id),
    )
    one(
        "release-withdrawn-but-counted",
        "the results count an attempt that was withdrawn before",
        "withdrawn but counted",
        _withdrawn(),
        ("results", "release r1"),
        ("file", results),
        ("root", "release r1"),
    )
    gone = honest()
    closed = gone.story.told[0].closed
    gone.say(lambda base: erasure(base, closed, closed.body.events))
    taken = {object_of(gone, closed.body.events): None}
    one("release-object-erased", "nothing: a record explains the object that is gone", "control", gone, files=taken)
    one(
        "release-object-gone-beside-an-erasure",
        "an erasure of one object is made to excuse the loss of another",
        "subject whose object is missing",
        gone,
        ("object", str(shot)),
        files={**taken, object_of(gone, shot): None},
    )
    one(
        "release-object-differs-though-erased",
        "other bytes stand under the name of an erased object",
        "subject whose object differs",
        gone,
        ("object", str(closed.body.events)),
        files={object_of(gone, closed.body.events): b"another"},
    )
    root = Digest.of(b"another")
    swapped = ReleaseScene()
    swapped.story.attempt("a", "pricing", 1)
    swapped.release(lambda body: but(body, root=root))
    one(
        "release-root-changed",
        "the recorded root is another than the leaves give",
        "edited release",
        swapped,
        ("root", "release r1"),
    )
    return found  # fmt: skip
