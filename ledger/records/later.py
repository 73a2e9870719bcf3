"""The rules on what is said once attempts are made: reveals, erasures, ballots and calibrations.

    later = Later(admitted, attempts)
    later.check(body)      # or RecordRejected("revealed", …)

A revealed kit can be read by whoever an attempt is made for. So none is revealed while an attempt on it is open, and no
formal attempt is opened on it afterwards: `revealed` refuses both. Whose kit it is goes by the commitment, not by the
case's name. Which objects an erasure may name is not known here: records are, trees are not.
"""

from __future__ import annotations

from ledger.records import kinds
from ledger.records.admitted import Admitted
from ledger.records.attempts import Attempts
from store.digest import Digest
from store.errors import RecordRejected

__all__ = ["Later"]


class Later:
    """The rules, over what was admitted.

    Args:
        admitted: where what it cites is found.
        attempts: what it is about.
    """

    def __init__(self, admitted: Admitted, attempts: Attempts) -> None:
        self._admitted = admitted
        self._attempts = attempts

    def check(self, body: kinds.Body) -> None:
        """Check a record that is said later, or an opening after one; others pass.

        Raises:
            RecordRejected: `revealed`, `commitment`, `unknown-reference`, `duplicate-reference`, `other-case` or
                `ballots`.
        """
        match body:
            case kinds.AttemptOpened():
                self._check_opening(body)
            case kinds.Reveal():
                self._check_reveal(body)
            case kinds.Erasure():
                self._admitted.known(body.record)
            case kinds.Preferences():
                self._check_ballots(body)
            case kinds.Calibration():
                self._check_calibration(body)

    def _commitment(self, case: Digest) -> Digest:
        return self._admitted.cited(case, kinds.Case).body.sealed.commitment

    def _check_opening(self, body: kinds.AttemptOpened) -> None:
        if body.purpose != "formal":
            return
        record = self._admitted.revealed(self._commitment(body.case.record))
        if record is not None:
            what = f"the kit of {body.case.id}@{body.case.version} is in clear since record {record}"
            raise RecordRejected("revealed", what, fix="freeze another version of the case, with a kit of its own")

    def _check_reveal(self, body: kinds.Reveal) -> None:
        commitment = self._admitted.case(body.case).body.sealed.commitment
        if body.kit != commitment:
            raise RecordRejected("commitment", f"revealed is the kit {body.kit}, committed is {commitment}")
        for attempt, case in self._attempts.unclosed():
            if self._commitment(case) == commitment:
                what = f"the attempt {attempt} on this kit is open"
                raise RecordRejected("revealed", what, fix="let it end, or `rbl attempt recover`")

    def _check_ballots(self, body: kinds.Preferences) -> None:
        seen: set[tuple[frozenset[Digest], str]] = set()
        for ballot in body.ballots:
            sides = frozenset((ballot.left, ballot.right))
            if len(sides) == 1 or (sides, ballot.shot) in seen:
                what = f"a ballot on {ballot.shot} shows one page twice, or one pair again"
                raise RecordRejected("duplicate-reference", what)
            seen.add((sides, ballot.shot))
            left, right = (
                self._attempts.case(self._admitted.attempt(side, kinds.Captures))
                for side in (ballot.left, ballot.right)
            )
            if left != right:
                raise RecordRejected("other-case", f"a ballot compares a page of {left} with one of {right}")

    def _check_calibration(self, body: kinds.Calibration) -> None:
        held = sum(len(self._admitted.cited(digest, kinds.Preferences).body.ballots) for digest in body.preferences)
        if held != body.ballots:
            what = f"it counts {body.ballots} ballots, and the records that it cites hold {held}"
            raise RecordRejected("ballots", what)
