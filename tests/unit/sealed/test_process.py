"""The evaluator as a process: what it is asked, what it answers, and what it refuses."""

from __future__ import annotations

import base64
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from cases.age import unseal
from cases.contract import Locator
from cases.kit import Assertion, Kit, commitment, new_identity, seal
from ledger.records import kinds
from ledger.records.envelope import Envelope
from ledger.records.keys import Signer
from ledger.records.keys import verify as verify_signature
from ledger.records.statement import Statement, sign_statement
from sealed.code import evaluator_digest
from store import canonical
from store.digest import Digest
from store.directory import save_tree
from store.objects import ObjectStore
from store.tree import Tree, TreeEntry

SHOT = "home.desktop.initial"
ORIGIN = "example.org/bench"
ATTEMPT = "20261130T230501Z__drawn__mine__r01__5f0c2a9e"
SWEEP = b'{"schema":"rbl/sweep/v1","widths":[{"path":"/","scroll_width":320,"width":320}]}'
HEAD = kinds.Head(size=12, root=Digest.of(b"root"))
WHEN = "2026-11-30T23:05:01Z"
KIT = Kit(
    case="drawn",
    version=1,
    regions=(),
    assertions=(Assertion("secret-heading", SHOT, "functional", Locator(css="h1.secret"), "visible"),),
    viewports={"desktop": 1},
    main=SHOT,
    responsive=(SHOT,),
)


@dataclass
class Bench:
    root: Path
    store: ObjectStore
    signer: Signer
    identity: str
    case: kinds.Case
    captures: kinds.Captures

    def request(self, **fields):
        outbox = self.root / "outbox"
        (outbox / "objects").mkdir(parents=True, exist_ok=True)
        leaf = lambda body: base64.b64encode(sign_statement(body, [self.signer]).format()).decode()  # noqa: E731 - short
        return {
            "origin": ORIGIN,
            "after": {"size": 12, "root": str(HEAD.root)},
            "attempt": ATTEMPT,
            "case_leaf": leaf(self.case),
            "captures_leaf": leaf(self.captures),
            "protocol_weights": {"functional": 1, "global_visual": 1, "responsive": 2},
            "objects": str(self.store.root),
            "key": str(self.root / "evaluator.pem"),
            "identity": str(self.root / "evaluator.age"),
            "outbox": str(outbox),
            "issued_at": WHEN,
            **fields,
        }

    def record(self, answer):
        leaf = (self.root / "outbox" / f"{Digest.parse(answer['record']).hex}.dsse").read_bytes()
        envelope = Envelope.parse(leaf)
        assert envelope.digest == Digest.parse(answer["record"])
        assert verify_signature(self.signer.public, envelope.signatures[0].sig, envelope.signed)
        return Statement.parse(envelope.payload).body


def ask(verb, request=None, **environment):
    return subprocess.run(
        [sys.executable, "-P", "-m", "sealed", verb],
        input=b"" if request is None else json.dumps(request).encode(),
        capture_output=True,
        check=False,
        timeout=120,
        env={**os.environ, **environment},
    )


def answer(verb, request):
    done = ask(verb, request)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture
def bench(tmp_path, studio, monkeypatch):
    monkeypatch.setenv("RBL_CACHE_HOME", str(tmp_path / "cache"))
    page = studio.landing(320, 480)
    files = studio.files_of(page, nodes=[studio.node("html"), studio.node("h1", 0, attrs={"class": "secret"})])
    blank = studio.files_of(studio.Page(320, 320, (255, 255, 255)), nodes=[studio.node("html")])
    store = ObjectStore.create(tmp_path / "objects")
    signer = Signer.generate()
    signer.save(tmp_path / "evaluator.pem")
    identity, recipient = new_identity()
    (tmp_path / "evaluator.age").write_text(identity + "\n")
    packed = KIT.pack(bytes(range(32)), {SHOT: files}, {SHOT: blank}, SWEEP)

    def tree(capture):
        entries = [TreeEntry.file(name, store.put_bytes(data), len(data)) for name, data in capture.items()]
        return save_tree(store, Tree.of(entries))

    anything = store.put_bytes(b"anything")
    environment = kinds.RenderEnvironment(
        image=anything, browser="chromium 140", fonts=anything, driver=anything, seccomp=anything, backend="docker"
    )
    common = {"ledger": ORIGIN, "after": HEAD, "issued_at": WHEN}
    case = kinds.Case(
        **common,
        id="drawn",
        version=1,
        track="frozen-evidence/reconstruct",
        title="Drawn",
        package=anything,
        evidence=anything,
        starter=anything,
        contract=anything,
        plan=anything,
        sealed=kinds.Sealed(commitment=commitment(packed), kit=store.put_bytes(seal(packed, recipient))),
        limits=kinds.Limits(seconds=60, memory=1 << 30, cpus=1000, pids=256, workspace=1 << 28),
        dimensions=["global_visual", "functional", "responsive", "policy"],
        environment=environment,
        checks=[kinds.Check(agent="oracle", run=1, score=kinds.FULL), kinds.Check(agent="noop", run=1, score=0)],
        source=None,
        supersedes=None,
    )
    captures = kinds.Captures(
        **common,
        chain=kinds.Chain(attempt=ATTEMPT, seq=2, prev=Digest.of(b"before")),
        build=anything,
        plan=anything,
        environment=environment,
        shots=[kinds.Shot(id=SHOT, tree=tree(files), error=None)],
        sweep=store.put_bytes(SWEEP),
    )
    store.flush()
    return Bench(tmp_path, store, signer, identity, case, captures)


def changed(body, **fields):
    return kinds.from_json(kinds.kind_of(type(body)), {**kinds.to_json(body), **fields})


def test_an_evaluation_is_signed_and_says_what_it_judged(bench):
    request = bench.request()
    found = answer("evaluate", request)
    body = bench.record(found)
    assert found["outcome"] == "evaluated"
    assert isinstance(body, kinds.Evaluation)
    assert body.verdict.total == kinds.FULL
    assert body.captures == Digest.of(base64.b64decode(request["captures_leaf"]))
    assert body.case == Digest.of(base64.b64decode(request["case_leaf"]))
    assert body.evaluator == evaluator_digest()
    assert body.commitment == bench.case.sealed.commitment
    assert body.separation in {"process", "user"}


def test_the_detail_is_encrypted_to_the_evaluator_alone(bench):
    body = bench.record(answer("evaluate", bench.request()))
    sealed = (bench.root / "outbox" / "objects" / body.detail.hex).read_bytes()
    assert Digest.of(sealed) == body.detail
    assert b"secret-heading" not in sealed
    detail = unseal(sealed, bench.identity)
    assert Digest.of(detail) == body.verdict.detail
    assert canonical.loads(detail)["salt"] == bytes(range(32)).hex()


def test_two_processes_give_the_same_bytes_whatever_their_threads(bench):
    request = bench.request()
    one = ask("verdict", request, OPENBLAS_NUM_THREADS="1", PYTHONHASHSEED="1")
    two = ask("verdict", request, OPENBLAS_NUM_THREADS="2", PYTHONHASHSEED="2", OPENBLAS_CORETYPE="NEHALEM")
    assert one.returncode == two.returncode == 0
    assert one.stdout == two.stdout


def test_a_regrade_is_the_recorded_verdict_and_writes_nothing(bench):
    request = bench.request()
    body = bench.record(answer("evaluate", request))
    before = sorted((bench.root / "outbox").rglob("*"))
    assert answer("verdict", request) == kinds.to_json(body)["verdict"]
    assert sorted((bench.root / "outbox").rglob("*")) == before


def test_a_verdict_has_the_same_bytes_with_and_without_the_cache(bench):
    cache = bench.root / "cache"
    request = bench.request()
    first = ask("check", request)
    kept = sorted(cache.rglob("*.json"))
    assert first.returncode == 0
    assert kept
    assert ask("check", request).stdout == first.stdout
    kept[0].write_bytes(b"damaged")
    assert ask("check", request).stdout == first.stdout
    assert kept[0].read_bytes() != b"damaged"
    assert ask("check", request, RBL_CACHE_HOME="/dev/null").stdout == first.stdout


def test_a_missing_shot_is_judged_as_nothing(bench):
    bench.captures = changed(bench.captures, shots=[{"id": SHOT, "tree": None, "error": "page crashed"}])
    body = bench.record(answer("evaluate", bench.request()))
    assert body.verdict.total == 0


@pytest.mark.parametrize("at", [0, 700, 20_000, -1])
def test_a_kit_with_one_byte_changed_is_refused(bench, at):
    packed = bytearray(unseal(bench.store.get(bench.case.sealed.kit), bench.identity))
    packed[at] ^= 1
    _, recipient = new_identity()
    (bench.root / "evaluator.age").write_text(_ + "\n")
    kit = bench.store.put_bytes(seal(bytes(packed), recipient))
    bench.store.flush()
    bench.case = changed(bench.case, sealed={"commitment": str(bench.case.sealed.commitment), "kit": str(kit)})
    found = answer("evaluate", bench.request())
    body = bench.record(found)
    assert found["outcome"] == "failed"
    assert isinstance(body, kinds.EvaluationFailed)
    assert body.reason == "kit"
    assert "committed" in body.detail


def test_a_damaged_kit_object_is_the_kit_s_failure(bench):
    path = bench.store.path(bench.case.sealed.kit)
    path.chmod(0o644)
    path.write_bytes(path.read_bytes()[:-1])
    assert bench.record(answer("evaluate", bench.request())).reason == "kit"


def test_a_damaged_capture_is_a_failure_and_not_a_score(bench):
    tree = Tree.parse(bench.store.get(bench.captures.shots[0].tree))
    path = bench.store.path(tree.get("full.png").digest)
    path.unlink()
    assert bench.record(answer("evaluate", bench.request())).reason == "captures"


def test_captures_of_another_attempt_or_plan_are_refused(bench):
    assert bench.record(answer("evaluate", bench.request(attempt="another"))).reason == "case"
    bench.captures = changed(bench.captures, plan=str(Digest.of(b"another plan")))
    assert bench.record(answer("evaluate", bench.request())).reason == "case"


def test_a_public_failure_names_nothing_sealed(bench, studio):
    broken = Kit(
        **{
            **{name: getattr(KIT, name) for name in KIT.__slots__},
            "assertions": (Assertion("secret-heading", SHOT, "functional", Locator(css="h1.secret[["), "visible"),),
        }
    )
    files = {
        name: bench.store.get(entry.digest)
        for name, entry in ((entry.path, entry) for entry in Tree.parse(bench.store.get(bench.captures.shots[0].tree)))
    }
    packed = broken.pack(bytes(32), {SHOT: files}, {}, SWEEP)
    identity, recipient = new_identity()
    (bench.root / "evaluator.age").write_text(identity)
    kit = bench.store.put_bytes(seal(packed, recipient))
    bench.store.flush()
    bench.case = changed(bench.case, sealed={"commitment": str(commitment(packed)), "kit": str(kit)})
    body = bench.record(answer("evaluate", bench.request()))
    assert body.reason == "case"
    assert "secret" not in body.detail


def test_a_curator_sees_every_checkpoint_of_a_draft(bench):
    request = bench.request(case=kinds.to_json(bench.case), captures=kinds.to_json(bench.captures))
    del request["case_leaf"], request["captures_leaf"], request["key"], request["outbox"]
    found = answer("check", request)
    assert found["verdict"]["total"] == kinds.FULL
    points = {(point["dimension"], point["name"]): point for point in found["checkpoints"]}
    assert points["functional", "secret-heading"]["score"] == kinds.FULL
    assert points["functional", "secret-heading"]["shot"] == SHOT


def test_without_a_key_nothing_is_answered(bench):
    (bench.root / "evaluator.pem").unlink()
    done = ask("evaluate", bench.request())
    assert done.returncode == 3
    assert done.stdout == b""
    assert not list((bench.root / "outbox").glob("*.dsse"))


@pytest.mark.parametrize(
    ("verb", "request_"), [("score", {}), ("evaluate", {}), ("evaluate", []), ("verdict", {"origin": 1})]
)
def test_what_is_no_request_is_refused(verb, request_):
    done = ask(verb, request_)
    assert done.returncode == 2
    assert done.stdout == b""


def test_a_leaf_that_is_no_record_is_refused(bench):
    assert ask("verdict", bench.request(case_leaf="AAAA")).returncode == 1
    assert ask("verdict", bench.request(case_leaf="!")).returncode == 2


def test_the_digest_is_the_same_in_every_process():
    assert ask("digest").stdout.decode().strip() == str(evaluator_digest())
