"""The visual score of one 1440 × 4000 pair, all its parts, beside one call of scikit-image's SSIM on the same pair."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from bench.measure import Line, at_most, interleaved, skipped

__all__ = ["lines"]

_HEIGHT: Final = 4000
_WIDTH: Final = 1440


def lines() -> Iterator[Line]:
    """Measure, one line after another."""
    from sealed.visual import Reference

    one, other = _shot(0), _shot(6)
    reference = Reference(one)
    subjects: dict[str, Any] = {"score": lambda: reference.score(other)}
    try:
        from skimage.metrics import structural_similarity
    except ImportError:
        subjects["score"]()
    else:
        subjects["ssim"] = lambda: structural_similarity(one.full, other.full, channel_axis=2)
    seconds = interleaved(subjects)
    yield at_most("visual score of a 1440×4000 pair", seconds["score"], None, "s, the reference prepared")
    if "ssim" in seconds:
        ratio = seconds["score"] / seconds["ssim"]
        yield at_most("visual score of a 1440×4000 pair", ratio, 0.8, f"× scikit-image SSIM ({seconds['ssim']:.2f} s)")
    else:
        yield skipped("visual score of a 1440×4000 pair", "scikit-image is not installed: pip install --group bench")


def _shot(shift: int) -> Any:
    """A page of cards, pictures and lines of text; `shift` moves some of it, in px."""
    import numpy as np

    from sealed.pixels import Shot, TextLine

    noise = np.random.default_rng(3)
    bare = np.full((_HEIGHT, _WIDTH, 3), 255, np.uint8)
    bare[:80] = (30, 40, 60)
    for number, top in enumerate(range(160, _HEIGHT - 400, 420)):
        left = 80 + shift * (number % 3)
        bare[top : top + 360, left : left + 600] = (240 - 4 * number, 200, 180 + 3 * number)
        bare[top + 40 : top + 320, 760:1360] = noise.integers(0, 255, (1, 600, 3), np.uint8)
    full, rows = bare.copy(), []
    for top in range(200, _HEIGHT - 400, 60):
        box = (120, top, 400, 20)
        ink = noise.integers(0, 2, (20, 400, 1), np.uint8)
        full[top : top + 20, 120:520] = full[top : top + 20, 120:520] * (1 - ink)
        rows.append(TextLine(f"the line at {top} of the page", box))
    return Shot(full=full, textless=bare, bare=bare, lines=tuple(rows))
