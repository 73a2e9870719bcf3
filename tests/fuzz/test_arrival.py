"""Whatever order records arrive in, and however often: what the real sequencer takes from a spool obeys the rules.

A planned benchmark is put into a log. Then the records of its attempts are signed and dropped into the spool shuffled,
some twice, rivals among them (a second closing, other captures), and forgeries by a key that is distrusted.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from itertools import pairwise
from pathlib import Path
from unittest.mock import patch

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ledger import sequencer
from ledger.folder import Folder
from ledger.log.authority import read_checkpoint
from ledger.log.spool import spool
from ledger.reader import Ledger
from ledger.records import kinds
from ledger.records.keys import Signer
from ledger.records.record import Record
from ledger.records.statement import sign_statement
from ledger.sequencer import Sequencer
from store.digest import Digest
from tests.unit.ledger.release import bench

TIME = "2026-11-30T23:05:01Z"
STOLEN = Signer.from_seed(b"\x77" * 32)


class Delivery:
    """A log with the plan, and what will arrive: honest records, rivals of some, forgeries."""

    def __init__(self, place):
        self.place = place
        folder = bench.begin(place / "bench")
        story = bench.tell(folder)
        story.plan(["a", "b"], ["c"], repeats=1)
        self._distrust(folder)
        self.folder, self.head = folder, read_checkpoint(folder).head
        self.honest, self.rivals = [], []
        story.say = self._sign
        self._tell(story)
        self.forged = [sign_statement(told.closed.body, [STOLEN]) for told in story.told if told.closed]
        folder.store.flush()

    def _distrust(self, folder):
        """Root 2: a second runner key, stolen, is distrusted from here on."""
        head = read_checkpoint(folder).head
        body = Ledger.open(folder).of(kinds.TrustRoot)[0].body
        key = kinds.PublicKey(keyid=STOLEN.keyid, public=STOLEN.public_text, distrusted_from=head.size)
        runner = body.roles["runner"]
        grant = msgspec.structs.replace(runner, keys=[*runner.keys, STOLEN.keyid])
        new = msgspec.structs.replace(
            body, version=2, after=head, keys=[*body.keys, key], roles={**body.roles, "runner": grant}
        )
        sequencer.submit(folder, new, "root")

    def _sign(self, make):
        body = make({"ledger": self.folder.config.origin, "after": self.head, "issued_at": TIME})
        kind = kinds.kind_of(type(body))
        envelope = sign_statement(body, [self.folder.keys.signer(bench.ROLE_OF[kind])])
        self.honest.append(envelope)
        return Record(0, envelope.digest, envelope.payload_digest, body, kind, ())

    def _tell(self, story):
        story.attempt("a", "c", 1, scores={"functional": 700_000})
        closed = story.told[0].closed
        late = kinds.Artifact(
            name="late.log", class_="late", media_type="text/plain", digest=story.put(b"late"), size=len(b"late")
        )
        story.say(
            lambda base: kinds.Artifacts(
                **base,
                chain=kinds.Chain(attempt=story.told[0].id, seq=4, prev=closed.digest),
                workspace=None,
                build=None,
                items=[late],
            )
        )
        first = story.attempt("b", "c", 1, outcome="harness-failure", captured=True, failed=True)
        story.attempt("b", "c", 1, number=2, retry_of=first.id, outcome="timeout")
        runner = [self.folder.keys.signer("runner")]
        for told in story.told:
            other = msgspec.structs.replace(told.closed.body, detail="another story")
            self.rivals.append(sign_statement(other, runner))
        seen = msgspec.structs.replace(story.told[0].captures.body, sweep=Digest.of(b"another sweep"))
        self.rivals.append(sign_statement(seen, runner))

    def deliver(self, envelopes, times=1):
        """Drop envelopes into a copy of the log, in this order, `times` over; the records that then stand in it."""
        root = Path(tempfile.mkdtemp())
        try:
            shutil.copytree(self.place, root / "copy")
            state = str(root / "copy" / "state")
            with patch.dict(os.environ, {"RBL_STATE_HOME": state}):
                folder = Folder.open(root / "copy" / "bench")
                found = []
                for _ in range(times):
                    for envelope in envelopes:
                        spool(folder, envelope)
                    with Sequencer.open(folder) as appender:
                        appender.drain()
                    found.append(Ledger.open(folder, full=True))
                assert all(view.head == found[0].head for view in found), "a second delivery changes nothing"
                return found[0].records[self.head.size :], found[0].attempts()
        finally:
            shutil.rmtree(root)


@pytest.fixture(scope="module")
def delivery(tmp_path_factory):
    place = tmp_path_factory.mktemp("arrival")
    with pytest.MonkeyPatch.context() as patch_:
        patch_.setenv("RBL_CONFIG_HOME", str(place / "config"))
        patch_.setenv("RBL_STATE_HOME", str(place / "state"))
        yield Delivery(place)


def arrivals(envelopes, draw):
    again = draw(st.lists(st.sampled_from(envelopes), max_size=4))
    return draw(st.permutations([*envelopes, *again]))


@settings(deadline=None, max_examples=10)
@given(st.data())
def test_honest_records_are_all_taken_once_in_whatever_order_they_arrive(delivery, data):
    order = arrivals(delivery.honest, data.draw)
    records, attempts = delivery.deliver(order, times=2)
    assert sorted(record.digest for record in records) == sorted(envelope.digest for envelope in delivery.honest)
    assert all(attempt.closed is not None for attempt in attempts)


@settings(deadline=None, max_examples=20)
@given(st.data())
def test_what_is_taken_obeys_the_rules_whoever_comes_first(delivery, data):
    order = arrivals([*delivery.honest, *delivery.rivals, *delivery.forged], data.draw)
    records, attempts = delivery.deliver(order, times=2)
    assert len({record.payload_digest for record in records}) == len(records)
    assert all(STOLEN.keyid not in record.keyids for record in records), "distrusted before they arrived"
    places = {attempt.id: attempt for attempt in attempts}
    for attempt in attempts:
        own = attempt.all()
        assert own[0] is attempt.opened
        assert sum(isinstance(record.body, kinds.AttemptClosed) for record in own) <= 1
        assert sum(isinstance(record.body, kinds.Captures) for record in own) <= 1
        chained = [record for record in own if hasattr(record.body, "chain")]
        assert [record.body.chain.seq for record in chained] == list(range(len(chained)))
        closing = attempt.closed
        for before, record in pairwise(chained):
            late = closing is not None and record.index > closing.index
            assert record.body.chain.prev == (closing if late else before).digest
        assert all(item.class_ == "late" for record in attempt.late for item in record.body.items)
        if closing is not None and closing.body.evaluation is not None:
            assert closing.body.evaluation in {record.digest for record in attempt.evaluations}
        if attempt.opened.body.retry_of is not None:
            tried = places[attempt.opened.body.retry_of]
            assert tried.closed is not None
            assert tried.closed.body.outcome == "harness-failure"
            assert tried.closed.index < attempt.opened.index
            assert tried.captures is None or any(r.index < attempt.opened.index for r in tried.failures)
