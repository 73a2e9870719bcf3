"""The words of a page as they can be seen, and how well a candidate's words stand for a reference's.

    found = words(lines, full, textless)      # a word counts when hiding text changes its pixels
    score = pair(found, others)               # 0 … 1; None where the reference has no words

Each reference word is paired with an equal word of the candidate, so that the distances within each word are smallest.
A pair counts by the roots of its areas (a Dice coefficient), less for distance, size, ink and colour. Size, ink and
colour are read from pixels: what the page's own code says about its text is not believed.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from sealed.colour import oklab, to_linear
from sealed.motion import pay
from sealed.pixels import Picture, TextLine

__all__ = ["Word", "pair", "words"]

Floats = NDArray[np.float64]

LEAST_CHANGE: Final = 12
"""Change of a colour channel that counts as ink, of 255."""
LEAST_INK: Final = 0.01
"""Share of inked pixels below which a line is invisible."""
CORE: Final = 0.8
"""The text's colour is read where the change is this share of the greatest."""
FOUND: Final = 0.4
SIZE: Final = 0.35
COLOUR: Final = 0.25
"""What an equal word counts for being there, for its size and ink, and for its colour."""
COLOUR_CAP: Final = 0.3
"""Colour distance that counts as all wrong, OKLab units."""
LEAST: Final = 1e-9

_CJK: Final = "\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af"
_WORD: Final = re.compile(rf"[{_CJK}]|[^\s{_CJK}]+")
"""A word ends at white space; each Chinese, Japanese or Korean character is one."""


@dataclass(frozen=True, slots=True)
class Word:
    """One visible word.

    Attributes:
        key: NFKC, case folded: words are equal when their keys are.
        x, y: its centre, px.
        width, height: its box, px; the width is its share of the line's characters.
        colour: median colour of its ink, sRGB.
        ink: share of the line's pixels that text changes.
    """

    key: str
    x: float
    y: float
    width: float
    height: float
    colour: tuple[float, float, float]
    ink: float


def words(lines: Sequence[TextLine], full: Picture, textless: Picture) -> list[Word]:
    """The words of a page that leave ink on it, in the order of its lines."""
    found: list[Word] = []
    for line in lines:
        x, y, width, height = line.box
        rows = slice(max(int(y), 0), max(int(np.ceil(y + height)), 0))
        columns = slice(max(int(x), 0), max(int(np.ceil(x + width)), 0))
        shown, hidden = full[rows, columns], textless[rows, columns]
        if not shown.size or not line.text:
            continue
        change = (np.maximum(shown, hidden) - np.minimum(shown, hidden)).max(-1)
        ink = float((change > LEAST_CHANGE).mean())
        if ink < LEAST_INK:
            continue
        core = change >= max(int(change.max()) * CORE, LEAST_CHANGE)
        red, green, blue = (float(value) for value in np.median(shown[core], 0))
        length = len(line.text)
        for match in _WORD.finditer(line.text):
            start, end = match.span()
            found.append(
                Word(
                    key=unicodedata.normalize("NFKC", match.group()).casefold(),
                    x=x + width * (start + end) / 2 / length,
                    y=y + height / 2,
                    width=width * (end - start) / length,
                    height=height,
                    colour=(red, green, blue),
                    ink=ink,
                )
            )
    return found


def pair(reference: Sequence[Word], candidate: Sequence[Word]) -> float | None:
    """How well the candidate's words stand for the reference's, 0 … 1; None where the reference has none."""
    if not reference:
        return None
    matches = _matches(reference, candidate)
    if not matches:
        return 0.0
    wanted, given = [reference[one] for one, _ in matches], [candidate[other] for _, other in matches]
    distance = np.hypot(_of(given, "y") - _of(wanted, "y"), _of(given, "x") - _of(wanted, "x"))
    size = _ratio(_of(wanted, "height"), _of(given, "height")) * _ratio(_of(wanted, "width"), _of(given, "width"))
    size *= np.sqrt(_ratio(_of(wanted, "ink"), _of(given, "ink")))
    off = _lab(wanted) - _lab(given)
    colour = 1 - np.minimum(np.sqrt((off**2).sum(-1)), COLOUR_CAP) / COLOUR_CAP
    look = FOUND + SIZE * size + COLOUR * colour
    matched = (pay(distance) * look * (_weight(wanted) + _weight(given))).sum()
    return float(matched / (_weight(reference).sum() + _weight(candidate).sum()))


def _matches(reference: Sequence[Word], candidate: Sequence[Word]) -> list[tuple[int, int]]:
    """Indices of paired words, by the reference's order: within each key, the assignment of least total distance."""
    groups: dict[str, tuple[list[int], list[int]]] = {}
    for index, word in enumerate(reference):
        groups.setdefault(word.key, ([], []))[0].append(index)
    for index, word in enumerate(candidate):
        if word.key in groups:
            groups[word.key][1].append(index)
    found: list[tuple[int, int]] = []
    for ones, others in groups.values():
        if len(ones) == len(others) == 1:
            found.append((ones[0], others[0]))
        elif others:
            rows, columns = ([reference[one] for one in ones], [candidate[other] for other in others])
            cost = np.abs(_of(rows, "x")[:, None] - _of(columns, "x")) + np.abs(
                _of(rows, "y")[:, None] - _of(columns, "y")
            )
            chosen = zip(*linear_sum_assignment(cost), strict=True)
            found.extend((ones[row], others[column]) for row, column in chosen)
    return sorted(found)


def _of(some: Sequence[Word], field: str) -> Floats:
    return np.array([getattr(word, field) for word in some], np.float64)


def _weight(some: Sequence[Word]) -> Floats:
    root: Floats = np.sqrt(_of(some, "width") * _of(some, "height"))
    return root


def _ratio(one: Floats, other: Floats) -> Floats:
    return np.minimum(one, other) / np.maximum(np.maximum(one, other), LEAST)


def _lab(some: Sequence[Word]) -> Floats:
    codes = np.rint(np.array([word.colour for word in some])).astype(np.int64)
    return oklab(to_linear(codes) / 65535.0)
