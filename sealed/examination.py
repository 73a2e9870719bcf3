"""The material of a verdict: captured shots of a candidate beside the kit's references, decoded and scored once each.

    yardstick = Yardstick(opened_kit)                # the kit's side: shared by all candidates judged with it
    exam = Examination(yardstick, {"home.desktop.initial": {"full.png": b"…", …}, "home.phone.menu": "crashed"}, sweep)
    exam.fault("home.phone.menu")                    # "crashed"
    exam.score("home.desktop.initial").value         # 992_044

A shot with a fault (missing, failed, a step that went wrong, pictures that do not decode, unstable where the reference
is stable) has no page and the score 0: it never becomes a white page that scores. Pictures are large, so only the last
few are kept. No rule about what counts how much is here: see `sealed.dimensions`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property, lru_cache
from typing import Final, TypeVar

from cases.capture import BARE, FILES, FULL, PAGE, TEXTLESS, Capture, Sweep
from cases.kit import OpenedKit, Region
from sealed.baselines import Baselines
from sealed.pixels import Shot
from sealed.regional import Place, Rect, RegionReference
from sealed.snapshot import Snapshot
from sealed.visual import NOTHING, Baseline, Reference, Score
from store.errors import HarnessError, InputError

__all__ = ["Examination", "Files", "Yardstick"]

Files = Mapping[str, bytes]
"""The files of one capture, by name."""

MISSING: Final = "missing"
R = TypeVar("R", Reference, RegionReference)

KEPT: Final = 2
"""Decoded shots kept at a time."""


class Yardstick:
    """The kit's side of every comparison.

    `page(shot)` is the `Reference` of a whole page; InputError when it cannot be told from doing nothing.

    Args:
        opened: the kit.
        baselines: what earlier yardsticks of this kit measured; changes the time and not the result.
    """

    def __init__(self, opened: OpenedKit, baselines: Baselines | None = None) -> None:
        self.opened = opened
        self._baselines = baselines
        self.kit = opened.kit
        self.page = lru_cache(KEPT)(self._prepare)
        self._reference = lru_cache(KEPT)(self._decode)
        self._starters = lru_cache(KEPT)(self._given)

    @cached_property
    def sweep(self) -> Sweep:
        """The sweep of the reference."""
        return Sweep.parse(self.opened.reference_sweep)

    def stable(self, shot: str) -> bool:
        """Whether the reference of a shot stood still. A shot without reference is taken to be stable."""
        files = self.opened.references.get(shot)
        return files is None or not _page(files).unstable

    def region(self, region: Region) -> RegionReference:
        """The reference of a region; where its locator finds it in the reference, that is its rectangle.

        Raises:
            InputError: it cannot be read, or not be told from doing nothing.
        """
        reference, page = self._reference(region.shot)
        rect = _located(region, page) or region.rect

        def measure(baseline: Baseline | None) -> RegionReference:
            starters = [] if baseline else self._starters(region.shot)
            given = [(start, _located(region, page)) for start, page in starters]
            return RegionReference(reference, rect, given, baseline)

        return self._remembered(f"region {region.name}", measure)

    def _prepare(self, shot: str) -> Reference:
        reference, _ = self._reference(shot)

        def measure(baseline: Baseline | None) -> Reference:
            starters = [] if baseline else self._starters(shot)
            return Reference(reference, [start for start, _ in starters], baseline)

        return self._remembered(f"shot {shot}", measure)

    def _remembered(self, name: str, measure: Callable[[Baseline | None], R]) -> R:
        """A reference by its known baseline; where there is none, measured and kept."""
        known = None if self._baselines is None else self._baselines.get(name)
        reference = measure(known)
        if self._baselines is not None and known is None:
            self._baselines.put(name, reference.baseline)
        return reference

    def _decode(self, shot: str) -> tuple[Shot, Snapshot]:
        files = self.opened.references[shot]
        return _shot(files), Snapshot(_page(files))

    def _given(self, shot: str) -> list[tuple[Shot, Snapshot]]:
        files = self.opened.starters.get(shot)
        return [] if files is None else [(_shot(files), Snapshot(_page(files)))]


class Examination:
    """One candidate's captures, beside a yardstick.

    Args:
        yardstick: the kit's side.
        shots: by shot id, the files of its capture, or why there is none.
        sweep: the candidate's sweep.
    """

    def __init__(self, yardstick: Yardstick, shots: Mapping[str, Files | str], sweep: Sweep) -> None:
        self.yardstick = yardstick
        self.sweep = sweep
        self._shots = shots
        self._pages: dict[str, Snapshot | str] = {}
        self._picture = lru_cache(KEPT)(self._decode)
        self._scores: dict[str, Score] = {}
        self._remarks: dict[str, str] = {}

    def fault(self, shot: str) -> str | None:
        """Why a shot counts as not captured; None when it is good.

        Raises:
            HarnessError: neither the candidate nor the reference stood still: the case is at fault.
        """
        page = self._look(shot)
        if isinstance(page, str):
            return page
        if page.capture.unstable:
            if not self.yardstick.stable(shot):
                raise HarnessError("neither the page nor its reference stood still", where=shot, fix="capture it again")
            return f"unstable: {', '.join(page.capture.unstable)}"[:200]
        return next((f"step {step.do} failed" for step in page.capture.steps if not step.ok), None)

    def page(self, shot: str) -> Snapshot | None:
        """The captured state, or None when the shot has a fault."""
        page = self._look(shot)
        return None if isinstance(page, str) or self.fault(shot) is not None else page

    def captured(self) -> list[tuple[str, Snapshot]]:
        """Every page that was captured, with or without fault, by shot id: for what must never happen at all."""
        pages = ((shot, self._look(shot)) for shot in sorted(self._shots))
        return [(shot, page) for shot, page in pages if isinstance(page, Snapshot)]

    def score(self, shot: str) -> Score:
        """The visual score of a whole page; `NOTHING` when the shot has a fault."""
        if shot not in self._scores:
            self._scores[shot] = self._scored(shot)
        return self._scores[shot]

    def remark(self, name: str) -> str | None:
        """Why a shot, or a region, has no score although it was captured: its reference cannot be scored against."""
        return self._remarks.get(name)

    def region(self, region: Region) -> tuple[Score, Place | None]:
        """The score of a region, times the gate of its page; and where it was found."""
        seen, page = self._picture(region.shot), self.page(region.shot)
        if isinstance(seen, str) or page is None:
            return NOTHING, None
        try:
            reference = self.yardstick.region(region)
        except InputError as error:
            self._remarks[region.name] = error.what
            return NOTHING, None
        return reference.score(seen, _located(region, page), self.score(region.shot).gate)

    def _scored(self, shot: str) -> Score:
        seen = self._picture(shot)
        if isinstance(seen, str):
            return NOTHING
        try:
            reference = self.yardstick.page(shot)
        except InputError as error:
            self._remarks[shot] = error.what
            return NOTHING
        return reference.score(seen)

    def _look(self, shot: str) -> Snapshot | str:
        if shot not in self._pages:
            files = self._shots.get(shot, MISSING)
            self._pages[shot] = files if isinstance(files, str) else _read(files)
        return self._pages[shot]

    def _decode(self, shot: str) -> Shot | str:
        fault, files = self.fault(shot), self._shots.get(shot, MISSING)
        if fault is not None or isinstance(files, str):
            return fault or MISSING
        try:
            return _shot(files)
        except InputError as error:
            return f"unreadable: {error.what}"


def _page(files: Files) -> Capture:
    return Capture.parse(files[PAGE])


def _shot(files: Files) -> Shot:
    return Shot.of(_page(files), files[FULL], files[TEXTLESS], files[BARE])


def _located(region: Region, page: Snapshot) -> Rect | None:
    return None if region.locator is None else page.rectangle(region.locator)


def _read(files: Files) -> Snapshot | str:
    """The page of a candidate's capture, or what is wrong with it: its content is never an internal failure."""
    absent = [name for name in FILES if name not in files]
    if absent:
        return f"no {absent[0]}"
    try:
        return Snapshot(_page(files))
    except InputError as error:
        return f"unreadable: {error.what}"[:200]
