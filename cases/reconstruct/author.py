"""`kit.toml`: what an author declares to be judged, before it is sealed.

    [[regions]]
    name = "hero"
    shot = "home.desktop.initial"
    locator = { css = "#hero" }       # and rect = [0, 80, 1440, 420], or the place it has on the reference
    weight = 2

    [[functional]]
    name = "headline"
    shot = "home.desktop.initial"
    target = { role = "heading", name = "Books, bound by hand" }
    expect = "visible"

    [[workflow]]
    name = "menu-opens"
    shot = "home.mobile.menu"
    target = { role = "link", name = "Visit" }
    expect = "visible"

    [viewports]
    desktop = 2
    mobile = 1

It is sealed material: keep it out of `cases/<id>/`, which Candidates are given. The words are Playwright's and
`cases.kit`'s. It becomes a kit in `cases.reconstruct.freeze`; whether an assertion holds is judged by the evaluator.
"""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from cases.contract import Locator, Part
from cases.kit import Assertion, Expectation, Judged

__all__ = ["AssertionRow", "AuthorKit", "RegionRow"]

Weight = Annotated[int, Meta(ge=1, le=1000)]
Name = Annotated[str, Meta(pattern=r"^[a-z0-9][a-z0-9._-]{0,63}$")]
Edge = Annotated[int, Meta(ge=0, le=100_000)]


class RegionRow(Part, frozen=True):
    """A declared region. One of `rect` and `locator`, or both."""

    name: Name
    shot: str
    locator: Locator | None = None
    rect: tuple[Edge, Edge, Edge, Edge] | None = None
    weight: Weight = 1

    def __post_init__(self) -> None:
        if self.locator is None and self.rect is None:
            raise ValueError(f"region {self.name!r} has neither rect nor locator")


class AssertionRow(Part, frozen=True):
    """A declared assertion; the table it stands in is its dimension."""

    name: Name
    shot: str
    expect: Expectation
    target: Locator | None = None
    attribute: str | None = None
    value: str | int | None = None
    weight: Weight = 1

    def assertion(self, dimension: Judged) -> Assertion:
        """As the kit has it."""
        return Assertion(
            name=self.name,
            shot=self.shot,
            dimension=dimension,
            target=self.target,
            expect=self.expect,
            attribute=self.attribute,
            value=self.value,
            weight=self.weight,
        )


class AuthorKit(Part, frozen=True):
    """What an author declares. A list that is left out is filled automatically; an empty one stays empty.

    Attributes:
        regions: of `regional_visual`.
        functional: assertions of that dimension.
        workflow: assertions on states that steps lead to.
        viewports: weight of each in `responsive`; 1 where nothing is said.
        origins: origins that a page may ask for; its own and those that the source asks for where nothing is said.
    """

    regions: tuple[RegionRow, ...] | None = None
    functional: tuple[AssertionRow, ...] | None = None
    workflow: tuple[AssertionRow, ...] | None = None
    viewports: dict[str, Weight] = {}  # noqa: RUF012 - msgspec copies an empty default
    origins: tuple[str, ...] | None = None
