"""The sequencer: admitted, durable, then signed; the same bytes after any crash; never a second history."""

from __future__ import annotations

import os
import shutil
import signal
import threading
from pathlib import Path

import pytest

from ledger import sequencer
from ledger.folder import Folder
from ledger.log.authority import open_log, pin_trust, read_checkpoint, read_note
from ledger.log.checkpoint import Checkpoint, open_checkpoint, sign_checkpoint
from ledger.log.journal import Journal
from ledger.log.lock import Lock
from ledger.log.note import VerifierKey
from ledger.log.pin import Pin
from ledger.records import kinds
from ledger.records.envelope import Envelope, sign
from ledger.records.keys import Signer
from ledger.records.rotation import make_next, promote
from ledger.records.statement import sign_statement
from ledger.sequencer import Sequencer, begin, spool, submit
from store.digest import Digest
from store.errors import Conflict, InputError, LogInvalid, RecordRejected, Unavailable

ORIGIN = "example.org/bench"
TIME = "2026-11-30T23:05:01Z"
KINDS = {"root": ["trust-root"], "curator": ["source", "case", "split"], "log": []}


@pytest.fixture(autouse=True)
def homes(tmp_path, monkeypatch):
    use_homes(monkeypatch, tmp_path)


def use_homes(monkeypatch, place):
    monkeypatch.setenv("RBL_CONFIG_HOME", str(place / "config"))
    monkeypatch.setenv("RBL_STATE_HOME", str(place / "state"))
    monkeypatch.delenv("RBL_PASSPHRASE", raising=False)
    sequencer._tips.clear()


def trust_root(signers, *, version=1, after=None, origin=ORIGIN, distrusted=None):
    keys = {signer.keyid: signer for signer in [*signers.values(), *(distrusted or {})]}
    return kinds.TrustRoot(
        ledger=origin,
        after=after,
        issued_at=TIME,
        version=version,
        keys=[
            kinds.PublicKey(keyid=key.keyid, public=key.public_text, distrusted_from=(distrusted or {}).get(key))
            for key in keys.values()
        ],
        roles={role: kinds.Grant(keys=[signers[role].keyid], threshold=1, kinds=KINDS[role]) for role in signers},
    )


def begun(place, origin=ORIGIN):
    folder = Folder.create(place, origin)
    signers = {role: folder.keys.create(role) for role in KINDS}
    begin(folder, trust_root(signers, origin=origin), [signers["root"]])
    return folder


@pytest.fixture
def folder(tmp_path):
    return begun(tmp_path / "bench")


def source(number, after, origin=ORIGIN):
    return kinds.Source(
        ledger=origin,
        after=after,
        issued_at=TIME,
        id=f"source-{number}",
        lead="a lead",
        origin="https://example.org/",
        artifact=Digest.of(b"artifact"),
        differences=[],
        permission="granted",
    )


def signed(folder, numbers):
    after = read_checkpoint(folder).head
    curator = folder.keys.signer("curator")
    return [sign_statement(source(number, after), [curator]) for number in numbers]


def files(directory):
    return {str(p.relative_to(directory)): p.read_bytes() for p in directory.rglob("*") if p.is_file()}


# ------------------------------------------------------------------------------------------------- beginning


def test_the_first_record_is_the_trust_root_and_its_digest_is_pinned(folder):
    leaf = open_log(folder).entry(0)
    assert (folder.trust / "1.root.json").read_bytes() == leaf
    assert Pin(folder.state).trust_root == Digest.of(leaf)
    assert Pin(folder.state).head == read_checkpoint(folder).head
    assert read_checkpoint(folder).head.size == 1


def test_beginning_again_with_the_same_root_changes_nothing(folder):
    signers = {role: folder.keys.signer(role) for role in KINDS}
    before = files(folder.root)
    record = begin(folder, trust_root(signers), [signers["root"]])
    assert record.index == 0
    assert files(folder.root) == before


def test_a_log_is_begun_once(folder):
    signers = {role: folder.keys.signer(role) for role in KINDS}
    body = trust_root(signers | {"curator": Signer.generate()})
    with pytest.raises(Conflict):
        begin(folder, body, [signers["root"]])
    assert read_checkpoint(folder).head.size == 1


def test_two_ledgers_of_one_origin_do_not_live_on_one_machine(tmp_path, folder):
    other = Folder.create(tmp_path / "other", ORIGIN)
    signers = {role: Signer.generate() for role in KINDS} | {"log": folder.keys.signer("log")}
    with pytest.raises((Conflict, LogInvalid)):
        begin(other, trust_root(signers), [signers["root"]])


def test_a_log_is_not_begun_with_a_key_that_its_root_does_not_list(tmp_path):
    folder = Folder.create(tmp_path / "bench", ORIGIN)
    signers = {role: folder.keys.create(role) for role in KINDS}
    with pytest.raises(Unavailable):
        begin(folder, trust_root(signers | {"log": Signer.generate()}), [signers["root"]])
    assert not (folder.log / "checkpoint").exists()
    begin(folder, trust_root(signers), [signers["root"]])
    assert read_checkpoint(folder).head.size == 1


def test_a_log_is_not_begun_with_a_record_that_is_refused(tmp_path):
    folder = Folder.create(tmp_path / "bench", ORIGIN)
    signers = {role: folder.keys.create(role) for role in KINDS}
    with pytest.raises(RecordRejected):
        begin(folder, trust_root(signers), [Signer.generate()])
    with pytest.raises(InputError, match="no log yet"):
        Sequencer.open(folder)
    with pytest.raises(InputError, match="no log yet"):
        read_checkpoint(folder)


# ------------------------------------------------------------------------------------------------- appending


def test_records_get_the_next_places_and_stand_in_a_signed_checkpoint(folder):
    envelopes = signed(folder, range(3))
    with Sequencer.open(folder) as appender:
        assert appender.append(envelopes[:2]) == [1, 2]
        assert appender.head == read_checkpoint(folder).head
        assert appender.append(envelopes[2:]) == [3]
    log = open_log(folder)
    assert list(log.entries(1)) == [envelope.format() for envelope in envelopes]
    assert read_checkpoint(folder).head == log.head
    assert log.size == 4


def test_submit_gives_the_record(folder):
    record = submit(folder, source(1, read_checkpoint(folder).head), "curator")
    assert (record.index, record.kind, record.body.id) == (1, "source", "source-1")
    assert record.digest == Digest.of(open_log(folder).entry(1))
    other = submit(folder, source(2, read_checkpoint(folder).head), [folder.keys.signer("curator")])
    assert other.index == 2


def test_the_same_payload_is_appended_once(folder):
    first, second = signed(folder, range(2))
    with Sequencer.open(folder) as appender:
        assert appender.append([first, first, second]) == [1, 1, 2]
        assert appender.append([second, first]) == [2, 1]
    sequencer._tips.clear()
    with Sequencer.open(folder) as appender:
        assert appender.append([second]) == [2]
    assert read_checkpoint(folder).head.size == 3


def test_a_batch_is_appended_whole_or_not_at_all(folder):
    good = signed(folder, range(3))
    bad = sign_statement(source(9, read_checkpoint(folder).head, "example.org/other"), [folder.keys.signer("curator")])
    before = files(folder.root)
    with Sequencer.open(folder) as appender:
        with pytest.raises(RecordRejected) as caught:
            appender.append([good[0], good[1], bad])
        assert caught.value.rule == "origin"
        assert files(folder.root) == before
        assert appender.append(good) == [1, 2, 3]


def test_what_is_journaled_is_integrated_when_the_block_ends(folder):
    envelopes = signed(folder, range(5))
    with Sequencer.open(folder) as appender:
        for envelope in envelopes:
            appender.append([envelope], integrate=False)
        assert read_checkpoint(folder).head.size == 1
        assert appender.size == 6
        assert appender.append([envelopes[0]], integrate=False) == [1]
    assert read_checkpoint(folder).head.size == 6


def test_the_root_does_not_depend_on_how_records_were_batched(tmp_path, folder, monkeypatch):
    envelopes = signed(folder, range(300))
    shutil.copytree(tmp_path, tmp_path.parent / f"{tmp_path.name}-copy")
    with Sequencer.open(folder) as appender:
        appender.append(envelopes)
    expected = read_checkpoint(folder).head
    use_homes(monkeypatch, tmp_path.parent / f"{tmp_path.name}-copy")
    copy = Folder.open(tmp_path.parent / f"{tmp_path.name}-copy" / "bench")
    for start in (0, 1, 2, 200, 256):
        with Sequencer.open(copy) as appender:
            appender.append(envelopes[:start], integrate=start % 2 == 0)
    with Sequencer.open(copy) as appender:
        appender.append(envelopes)
    assert read_checkpoint(copy).head == expected
    assert (
        files(copy.log).items()
        >= {name: data for name, data in files(folder.log).items() if ".p/" not in name or name.endswith("/45")}.items()
    )


def test_another_process_that_read_less_goes_on_from_there(folder):
    envelopes = signed(folder, range(4))
    with Sequencer.open(folder) as appender:
        appender.append(envelopes[:1])
    stale = dict(sequencer._tips)
    sequencer._tips.clear()
    with Sequencer.open(folder) as appender:
        appender.append(envelopes[1:3])
    sequencer._tips.update(stale)
    with Sequencer.open(folder) as appender:
        assert appender.append(envelopes) == [1, 2, 3, 4]


def test_one_appends_at_a_time(folder):
    with Sequencer.open(folder), pytest.raises(Conflict, match="appending"):
        Sequencer.open(folder, wait=0)
    with Sequencer.open(folder, wait=0):
        pass


def test_threads_wait_for_each_other(folder):
    envelopes = signed(folder, range(12))
    errors = []

    def work(envelope):
        try:
            with Sequencer.open(folder) as appender:
                appender.append([envelope])
        except Exception as error:  # noqa: BLE001 (shown below)
            errors.append(error)

    threads = [threading.Thread(target=work, args=[envelope]) for envelope in envelopes]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert read_checkpoint(folder).head.size == 13
    assert {Digest.of(leaf) for leaf in open_log(folder).entries(1)} == {envelope.digest for envelope in envelopes}


def test_a_signature_of_the_wrong_role_is_refused(folder):
    stranger = sign_statement(source(1, read_checkpoint(folder).head), [folder.keys.signer("log")])
    with Sequencer.open(folder) as appender, pytest.raises(RecordRejected):
        appender.append([stranger])
    assert read_checkpoint(folder).head.size == 1


def test_what_readers_could_not_parse_never_becomes_a_leaf(folder):
    envelope = signed(folder, [1])[0]
    odd = sign(envelope.payload, [folder.keys.signer("curator")], "application/json")
    none = Envelope(envelope.payload, envelope.payload_type, ())
    with Sequencer.open(folder) as appender:
        for bad in (odd, none):
            with pytest.raises(RecordRejected):
                appender.append([bad])
    assert read_checkpoint(folder).head.size == 1


def test_without_the_log_key_nothing_is_written(folder):
    envelopes = signed(folder, range(2))
    folder.keys.path("log").rename(folder.root / "away.pem")
    before = files(folder.root)
    with Sequencer.open(folder) as appender, pytest.raises(Unavailable):
        appender.append(envelopes)
    assert files(folder.root) == before


def test_an_old_head_can_be_cited(folder):
    after = read_checkpoint(folder).head
    for number in range(3):
        submit(folder, source(number, after), "curator")
    with pytest.raises(RecordRejected) as caught:
        submit(folder, source(9, kinds.Head(size=2, root=Digest.of(b"never"))), "curator")
    assert caught.value.rule == "after"


# ------------------------------------------------------------------------------------------------- log keys


def test_the_log_key_can_be_replaced(folder):
    submit(folder, source(1, read_checkpoint(folder).head), "curator")
    signers = {role: folder.keys.signer(role) for role in KINDS}
    old = signers["log"]
    folder.keys.path("log").rename(folder.root / "old.pem")
    signers["log"] = folder.keys.create("log")
    with pytest.raises(Unavailable):
        submit(folder, source(2, read_checkpoint(folder).head), "curator")
    body = trust_root(signers, version=2, after=read_checkpoint(folder).head, distrusted={old: 2})
    record = submit(folder, body, [signers["root"]])
    assert (folder.trust / "2.root.json").read_bytes() == open_log(folder).entry(record.index)
    submit(folder, source(2, read_checkpoint(folder).head), "curator")
    head = read_checkpoint(folder).head
    sequencer._tips.clear()
    with Sequencer.open(folder) as appender:
        assert appender.head == head
    (folder.log / "checkpoint").write_bytes(sign_checkpoint(Checkpoint(ORIGIN, head.size, head.root), old))
    with pytest.raises(LogInvalid) as caught:
        read_checkpoint(folder)
    assert caught.value.rule == "note-unsigned"


@pytest.mark.parametrize("change", ["other-origin", "stranger", "flip", "cut"])
def test_a_checkpoint_that_does_not_verify_is_refused(folder, change):
    head = read_checkpoint(folder).head
    key = folder.keys.signer("log")
    forged = {
        "other-origin": sign_checkpoint(Checkpoint("example.org/other", 1, head.root), key),
        "stranger": sign_checkpoint(Checkpoint(ORIGIN, 1, head.root), Signer.generate()),
        "flip": read_note(folder).replace(b"\n1\n", b"\n2\n"),
        "cut": read_note(folder)[:-5],
    }[change]
    (folder.log / "checkpoint").write_bytes(forged)
    with pytest.raises(LogInvalid):
        read_checkpoint(folder)
    with pytest.raises(LogInvalid):
        Sequencer.open(folder)


def test_another_trust_root_in_the_folder_is_refused(folder):
    signers = {role: Signer.generate() for role in KINDS}
    forged = sign_statement(trust_root(signers), [signers["root"]])
    (folder.trust / "1.root.json").write_bytes(forged.format())
    with pytest.raises(LogInvalid) as caught:
        read_checkpoint(folder)
    assert caught.value.rule == "trust"


def test_a_machine_that_pinned_nothing_believes_nothing(tmp_path, folder, monkeypatch):
    digest = Pin(folder.state).trust_root
    monkeypatch.setenv("RBL_STATE_HOME", str(tmp_path / "elsewhere"))
    with pytest.raises(InputError, match="pin"):
        read_checkpoint(folder)
    pin_trust(folder, digest)
    assert read_checkpoint(folder).head.size == 1


# ------------------------------------------------------------------------------------------------- turning back time


def test_a_log_folder_that_was_rolled_back_is_refused(tmp_path, folder):
    shutil.copytree(folder.log, tmp_path / "backup")
    submit(folder, source(1, read_checkpoint(folder).head), "curator")
    shutil.rmtree(folder.log)
    shutil.copytree(tmp_path / "backup", folder.log)
    for call in (Sequencer.open, open_log, read_checkpoint):
        with pytest.raises(LogInvalid) as caught:
            call(folder)
        assert caught.value.rule == "rollback"


def test_a_whole_folder_that_was_rolled_back_is_refused(tmp_path, folder):
    shutil.copytree(folder.root, tmp_path / "backup")
    head = read_checkpoint(folder).head
    submit(folder, source(1, head), "curator")
    shutil.rmtree(folder.root)
    (tmp_path / "backup").rename(folder.root)
    with pytest.raises(LogInvalid) as caught:
        submit(folder, source(2, head), "curator")
    assert caught.value.rule == "rollback"


def test_a_log_that_is_gone_is_not_begun_anew(folder):
    signers = {role: folder.keys.signer(role) for role in KINDS}
    shutil.rmtree(folder.log)
    for call in (Sequencer.open, lambda place: begin(place, trust_root(signers), [signers["root"]])):
        with pytest.raises(LogInvalid) as caught:
            call(folder)
        assert caught.value.rule == "rollback"


def test_another_history_is_refused(tmp_path, folder, monkeypatch):
    shutil.copytree(tmp_path, tmp_path.parent / f"{tmp_path.name}-fork")
    submit(folder, source(1, read_checkpoint(folder).head), "curator")
    use_homes(monkeypatch, tmp_path.parent / f"{tmp_path.name}-fork")
    fork = Folder.open(tmp_path.parent / f"{tmp_path.name}-fork" / "bench")
    for number in (2, 3):
        submit(fork, source(number, read_checkpoint(fork).head), "curator")
    use_homes(monkeypatch, tmp_path)
    shutil.rmtree(folder.log)
    shutil.copytree(fork.log, folder.log)
    for call in (Sequencer.open, open_log):
        with pytest.raises(LogInvalid) as caught:
            call(folder)
        assert caught.value.rule == "fork"


def test_a_journal_that_the_log_does_not_reach_is_a_rollback(tmp_path, folder, monkeypatch):
    journal = Journal(folder.journal / "batches")
    journal.append(5, [b"{}"], kinds.Head(size=6, root=Digest.of(b"6")))
    journal.close()
    with pytest.raises(LogInvalid) as caught:
        Sequencer.open(folder)
    assert caught.value.rule in {"rollback", "journal"}


def test_a_journal_with_a_record_that_no_rule_admits_is_refused(folder):
    journal = Journal(folder.journal / "batches")
    journal.append(1, [b"{}"], kinds.Head(size=2, root=Digest.of(b"2")))
    journal.close()
    with pytest.raises(LogInvalid) as caught:
        Sequencer.open(folder)
    assert caught.value.rule == "journal"


# ------------------------------------------------------------------------------------------------- crashes

OPERATIONS = ("pwrite", "write", "fsync", "fdatasync", "link", "replace", "rename", "unlink", "mkdir", "ftruncate")


def killed_at(number, work):
    """Run `work` in a child that is killed just before its `number`-th file operation; whether it was."""
    child = os.fork()
    if not child:
        count = 0

        def counted(operation):
            def call(*args, **kwargs):
                nonlocal count
                count += 1
                if count == number:
                    os.kill(os.getpid(), signal.SIGKILL)
                return operation(*args, **kwargs)

            return call

        try:
            for name in OPERATIONS:
                setattr(os, name, counted(getattr(os, name)))
            work()
        finally:
            os._exit(0)
    return os.WIFSIGNALED(os.waitpid(child, 0)[1])


@pytest.mark.parametrize(("start", "step"), [(0, 1), (252, 7)], ids=["a-first-bundle", "over-the-end-of-a-bundle"])
def test_a_crash_before_any_file_operation_recovers_to_the_same_bytes(tmp_path, monkeypatch, start, step):
    """Killed before its writes, links, renames and fsyncs in turn."""
    base = tmp_path / "base"
    use_homes(monkeypatch, base)
    folder = begun(base / "bench")
    envelopes = signed(folder, range(start + 8))
    with Sequencer.open(folder) as appender:
        appender.append(envelopes[:start])

    def work(place):
        opened = Folder.open(place / "bench")
        with Sequencer.open(opened) as appender:
            appender.append(envelopes[start : start + 3])
            appender.append(envelopes[start + 3 : start + 6], integrate=False)
            appender.append(envelopes[start + 6 :])

    reference = tmp_path / "reference"
    shutil.copytree(base, reference)
    use_homes(monkeypatch, reference)
    work(reference)
    expected = {name: data for name, data in files(reference).items() if ".p/" not in name and "batches" not in name}

    sequencer._tips.clear()
    points = 1 - step
    killed = True
    while killed:
        points += step
        place = tmp_path / "try"
        shutil.copytree(base, place)
        use_homes(monkeypatch, place)
        killed = killed_at(points, lambda place=place: work(place))
        opened = Folder.open(place / "bench")
        acknowledged = open_log(opened).size
        with Sequencer.open(opened) as appender:
            assert appender.size >= acknowledged
            assert appender.append(envelopes) == list(range(1, start + 9))
        found = {name: data for name, data in files(place).items() if ".p/" not in name and "batches" not in name}
        assert found == expected
        assert [*open_log(opened).entries(1)] == [envelope.format() for envelope in envelopes]
        shutil.rmtree(place)
        sequencer._tips.clear()
    assert points > 40


def test_a_crash_at_the_beginning_of_a_log_can_be_begun_again(tmp_path, monkeypatch):
    base = tmp_path / "base"
    use_homes(monkeypatch, base)
    folder = Folder.create(base / "bench", ORIGIN)
    signers = {role: folder.keys.create(role) for role in KINDS}
    body = trust_root(signers)
    points = 0
    killed = True
    while killed:
        points += 1
        place = tmp_path / "try"
        shutil.copytree(base, place)
        use_homes(monkeypatch, place)
        opened = Folder.open(place / "bench")
        killed = killed_at(points, lambda opened=opened: begin(opened, body, [signers["root"]]))
        assert begin(opened, body, [signers["root"]]).index == 0
        assert read_checkpoint(opened).head.size == 1
        shutil.rmtree(place)
    assert points > 15


def test_a_batch_whose_write_was_cut_off_was_never_appended(folder):
    envelopes = signed(folder, range(2))
    with Sequencer.open(folder) as appender:
        appender.append(envelopes[:1])
    journal = folder.journal / "batches"
    with journal.open("ab") as file:
        file.write(b"RBLB\x00\x00\x10\x00half a batch")
    with Sequencer.open(folder) as appender:
        assert appender.size == 2
        assert appender.append(envelopes) == [1, 2]


def test_a_tile_that_somebody_else_wrote_stops_everything(folder):
    path = folder.log / "tile/entries/000.p/2"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"another")
    appender = Sequencer.open(folder)
    with pytest.raises(LogInvalid) as caught:
        appender.append(signed(folder, range(1)))
    assert caught.value.rule == "fork"
    with pytest.raises(Conflict, match="halfway"):
        appender.append(signed(folder, range(1)))
    appender.close()
    assert read_checkpoint(folder).head.size == 1
    path.unlink()
    with Sequencer.open(folder) as again:
        assert again.size == 2
    assert read_checkpoint(folder).head.size == 2


# ------------------------------------------------------------------------------------------------- the spool


def test_what_was_dropped_is_appended_and_cleared(folder):
    envelopes = signed(folder, range(3))
    for envelope in envelopes:
        spool(folder, envelope)
    spool(folder.spool, envelopes[0])
    with Sequencer.open(folder) as appender:
        assert appender.drain() == [1, 2, 3, 1]
        assert appender.drain() == []
    assert list(folder.spool.glob("*.dsse")) == []
    assert read_checkpoint(folder).head.size == 4


def test_what_is_refused_is_kept_with_the_reason(folder):
    good = signed(folder, [1])[0]
    bad = sign_statement(source(2, read_checkpoint(folder).head, "example.org/other"), [folder.keys.signer("curator")])
    refused = spool(folder, bad)
    spool(folder, good)
    (folder.spool / "garbage.dsse").write_bytes(b"not an envelope")
    (folder.spool / "long.dsse").write_bytes(b"x" * 70_000)
    (folder.spool / "link.dsse").symlink_to(folder.root / "rbl.toml")
    os.mkfifo(folder.spool / "pipe.dsse")
    with Sequencer.open(folder) as appender:
        assert appender.drain() == [1]
    rejected = folder.spool / "rejected"
    assert (rejected / refused.name).read_bytes() == bad.format()
    assert (rejected / f"{refused.name}.reason").read_text().startswith("origin: ")
    assert {path.name for path in rejected.glob("*.reason")} == {
        f"{name}.reason" for name in (refused.name, "garbage.dsse", "long.dsse", "link.dsse", "pipe.dsse")
    }
    assert list(folder.spool.glob("*.dsse")) == []


def test_a_record_that_came_before_what_it_cites_is_tried_again(folder):
    cited = signed(folder, [1])[0]
    with Sequencer.open(folder) as appender:
        appender.append([cited])
        later = sign_statement(source(2, appender.head), [folder.keys.signer("curator")])
        latest = sign_statement(source(3, read_checkpoint(folder).head), [folder.keys.signer("curator")])
    ahead = kinds.Head(size=3, root=Digest.from_raw(_root_with(folder, later)))
    first = sign_statement(source(4, ahead), [folder.keys.signer("curator")])
    for envelope in (first, later, latest):
        spool(folder, envelope)
    with Sequencer.open(folder) as appender:
        assert sorted(appender.drain()) == [2, 3, 4]
    assert not (folder.spool / "rejected").exists()


def _root_with(folder, envelope):
    from ledger.log import merkle

    frontier = open_log(folder).edge()
    frontier.append(merkle.leaf_hash(envelope.format()))
    return frontier.root()


def test_a_spool_that_is_not_there_is_empty(folder, tmp_path):
    with Sequencer.open(folder) as appender:
        assert appender.drain(tmp_path / "absent") == []


def test_a_lock_is_let_go_when_its_holder_dies(tmp_path):
    child = os.fork()
    if not child:
        Lock(tmp_path / "lock", wait=0)
        os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(child, 0)
    with Lock(Path(tmp_path / "lock"), wait=0):
        pass


# ------------------------------------------------------------------------------------------------- another log key


def rotated(folder, distrusted=None):
    """Trust root 2, which lists the next log key in place of the one in use."""
    signers = {role: folder.keys.signer(role) for role in KINDS}
    after = make_next(folder.keys, "log")
    head = read_checkpoint(folder).head
    body = trust_root(signers | {"log": after}, version=2, after=head, distrusted=distrusted)
    return after, sign_statement(body, [signers["root"]])


def test_the_log_key_changes_with_the_trust_root_that_lists_the_next_one(folder):
    old = folder.keys.signer("log")
    after, envelope = rotated(folder)
    with Sequencer.open(folder) as sequencer:
        assert sequencer.append([envelope]) == [1]
    assert read_checkpoint(folder).head.size == 2, "signed by the next key, and read under it"
    assert folder.keys.signer("log").keyid == old.keyid, "no file was moved"
    with Sequencer.open(folder) as sequencer:
        assert sequencer.append(signed(folder, [1])) == [2]
    assert promote(folder.keys, "log", {after.keyid})
    with Sequencer.open(folder) as sequencer:
        assert sequencer.append(signed(folder, [2])) == [3]


def test_a_retired_log_key_signs_no_head_that_holds_what_retired_it(folder):
    old = folder.keys.signer("log")
    with Sequencer.open(folder) as sequencer:
        sequencer.append(signed(folder, [1]))
        after, envelope = rotated(folder)
        sequencer.append(signed(folder, [2]))
    last = read_checkpoint(folder)
    note = read_note(folder)
    assert last.size == 3
    with Sequencer.open(folder) as sequencer:
        sequencer.append([envelope])  # made after 2 records, and it is record 3
        sequencer.append(signed(folder, [3]))
    log = open_log(folder)
    for size in (4, 5):
        head = Checkpoint(ORIGIN, size, log.root_at(size))
        (folder.log / "checkpoint").write_bytes(sign_checkpoint(head, old))
        with pytest.raises(LogInvalid) as caught:
            forgotten(folder, open_log)
        assert caught.value.rule == "retired"
        (folder.log / "checkpoint").write_bytes(sign_checkpoint(head, after))
        assert forgotten(folder, read_checkpoint).size == size
    (folder.log / "checkpoint").write_bytes(note)
    assert forgotten(folder, read_checkpoint) == last, "what it signed before stands"


def forgotten(folder, read):
    """Read as a machine does that has seen no head of this log."""
    pinned = Pin(folder.state).trust_root
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RBL_STATE_HOME", str(folder.root / "elsewhere"))
        return read(folder, pinned)


@pytest.mark.parametrize("from_index", [None, 1])
def test_a_crash_between_the_trust_root_and_the_head_it_changes_is_finished(folder, monkeypatch, from_index):
    old = folder.keys.signer("log")
    with Sequencer.open(folder) as appending:
        appending.append(signed(folder, [1, 2]))
    after, envelope = rotated(folder, None if from_index is None else {old: from_index})

    def crash(_self, _note):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, Sequencer.open(folder) as appending:
        patch.setattr("ledger.log.writer.LogWriter.publish", crash)
        with pytest.raises(KeyboardInterrupt):
            appending.append([envelope])
    assert (folder.trust / "2.root.json").exists()
    sequencer._tips.clear()
    with Sequencer.open(folder) as again:
        assert again.size == 4
    assert open_checkpoint(read_note(folder), ORIGIN, [VerifierKey(ORIGIN, after.public)]).size == 4
    assert read_checkpoint(folder).size == 4
