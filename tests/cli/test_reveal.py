"""`rbl case reveal`: a retired kit in clear, after which a stranger with a bag gets the recorded verdict by himself."""

from __future__ import annotations

import msgspec
import pytest

from cases.age import seal
from cases.contract import Locator
from cases.kit import Assertion, Kit, commitment
from ledger.records import kinds
from ledger.release.freeze import freeze
from rbl.workspace import create
from runners.evaluator_process import evaluator_digest
from runners.grading import grade
from store.digest import Digest
from store.directory import save_tree
from store.tree import Tree, TreeEntry
from tests.cli.conftest import Command, explained
from tests.unit.ledger.release.bench import say
from tests.unit.ledger.release.story import ORIGIN, Story
from tests.unit.sealed.conftest import Page, files_of, landing, node

SHOT = "home.desktop.initial"
SWEEP = b'{"schema":"rbl/sweep/v1","widths":[{"path":"/","scroll_width":320,"width":320}]}'
SELECTOR = "h1.secret"
KIT = Kit(
    case="pricing",
    version=1,
    regions=(),
    assertions=(Assertion("secret-heading", SHOT, "functional", Locator(css=SELECTOR), "visible"),),
    viewports={"desktop": 1},
    main=SHOT,
    responsive=(SHOT,),
)
but = msgspec.structs.replace


class Judged(Story):
    """A story whose one case has a kit, whose captures are pictures, and whose verdicts are the evaluator's own."""

    def __init__(self, folder):
        super().__init__(self.real, folder.store.put_bytes)
        self.folder, self.told_to = folder, say(folder)
        page = landing(320, 480)
        files = files_of(page, nodes=[node("html"), node("h1", 0, attrs={"class": "secret"})])
        blank = files_of(Page(320, 320, (255, 255, 255)), nodes=[node("html")])
        self.drawn = self.folder_of(files_of(page.moved(3, 0), nodes=[node("html"), node("h1", 0)]))
        self.kit = KIT.pack(bytes(range(32)), {SHOT: files}, {SHOT: blank}, SWEEP)

    def folder_of(self, files):
        put = self.folder.store.put_bytes
        return save_tree(
            self.folder.store,
            Tree.of([TreeEntry.file(name, put(data), len(data)) for name, data in files.items()]),
        )

    def real(self, make):
        def made(base):
            body = make(base)
            match body:
                case kinds.Case():
                    recipient = (self.folder.kits / "recipient.txt").read_text().strip()
                    sealed = self.folder.store.put_bytes(seal(self.kit, recipient))
                    return but(body, sealed=kinds.Sealed(commitment=commitment(self.kit), kit=sealed))
                case kinds.Protocol():
                    return but(body, evaluator=evaluator_digest())
                case kinds.Captures():
                    shots = [kinds.Shot(id=SHOT, tree=self.drawn, error=None)]
                    return but(body, shots=shots, sweep=self.folder.store.put_bytes(SWEEP))
            return body

        return self.told_to(made)

    def evaluate(self, told, *_):
        return grade(self.folder, told.opened)


@pytest.fixture
def operator(tmp_path, monkeypatch):
    """The operator's command and folder."""
    command = stranger(tmp_path)
    for name in ("RBL_CONFIG_HOME", "RBL_STATE_HOME", "RBL_CACHE_HOME"):
        monkeypatch.setenv(name, command.environment[name])
    return command, Judged(create(tmp_path / "bench", ORIGIN))


def stranger(place):
    command = Command(place)
    command.environment["RBL_CACHE_HOME"] = str(place / "cache")
    return command


REVEAL = ("--detail", "2026 is over", "--author", "kim")


def test_nobody_reveals_what_is_still_in_use_or_without_the_identity(operator, tmp_path):
    rbl, story = operator
    bench = story.folder.root
    story.plan(["a"], ["pricing"], repeats=2)
    open_one = story.attempt("a", "pricing", 1, outcome="timeout", close=False)
    explained(rbl("-C", bench, "case", "reveal", "pricing", *REVEAL, "--anyway"), 5, "open", open_one.id)
    chain = kinds.Chain(attempt=open_one.id, seq=1, prev=open_one.opened.digest)
    story.say(
        lambda base: kinds.AttemptClosed(
            **base,
            chain=chain,
            outcome="timeout",
            reason="wall-clock",
            detail="",
            last_step="",
            notes=[],
            evaluation=None,
            milliseconds=1,
            events=None,
        )
    )
    explained(rbl("-C", bench, "case", "reveal", "pricing", *REVEAL), 5, "1 scheduled attempts", "--anyway")
    explained(rbl("-C", bench, "case", "reveal", "prices", *REVEAL), 2, "prices")
    explained(rbl("-C", bench, "case", "reveal", "pricing@x", *REVEAL), 2, "id@1")
    identity = story.folder.keys.identity_path.rename(tmp_path / "away")
    explained(rbl("-C", bench, "case", "reveal", "pricing", *REVEAL), 3, "identity")
    identity.rename(story.folder.keys.identity_path)
    told = rbl("-C", bench, "case", "reveal", "pricing", *REVEAL, "--dry-run", "--json").document
    assert (told["kit"], told["waiting"], told["record"]) == (str(commitment(story.kit)), 1, None)
    assert not story.folder.store.has(commitment(story.kit)), "nothing is in clear yet"


def test_after_a_reveal_a_stranger_with_a_bag_gets_the_recorded_verdict(operator, tmp_path):
    rbl, story = operator
    story.plan(["a"], ["pricing"], repeats=1)
    bench, attempt = story.folder.root, story.attempt("a", "pricing", 1).id
    freeze(story.folder, "r1", "s1")
    before = rbl("-C", bench, "attempt", "regrade", attempt, "--json").document
    assert (before["same"], before["kit"]) == (True, "sealed")
    rbl("-C", bench, "store", "export", "r1", tmp_path / "sealed.tar")

    found = rbl("-C", bench, "case", "reveal", "pricing@1", *REVEAL, "--json").document
    assert found["kit"] == str(Digest.of(story.kit))
    assert rbl("-C", bench, "ledger", "verify").code == 0
    explained(rbl("-C", bench, "case", "reveal", "pricing", *REVEAL), 5, "in clear already")
    assert rbl("-C", bench, "store", "export", "r1", tmp_path / "clear.tar").code == 0

    other = stranger(tmp_path / "other")
    for name in ("sealed", "clear"):
        assert other("store", "import", tmp_path / f"{name}.tar", tmp_path / name).code == 0
    pin = Digest.of((bench / "trust/1.root.json").read_bytes())
    assert other("-C", tmp_path / "sealed", "trust", "update", "--pin", pin).code == 0
    explained(other("-C", tmp_path / "sealed", "attempt", "regrade", attempt), 3, "not revealed")
    assert other("-C", tmp_path / "clear", "release", "verify", "r1").code == 0
    again = other("-C", tmp_path / "clear", "attempt", "regrade", attempt, "--json").document
    assert (again["same"], again["kit"]) == (True, "in clear")
    assert again["computed"] == before["recorded"] == story.told[0].evaluation.body.verdict.total

    kit = (tmp_path / "clear/objects/sha256" / found["kit"][7:9] / found["kit"][9:]).read_bytes()
    assert SELECTOR.encode() in kit
