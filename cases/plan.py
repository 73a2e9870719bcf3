"""The probe plan: what the render driver does, and nothing of what it is judged by.

    {"schema":"rbl/plan/v1",
     "settings":{"clock":"2026-01-01T00:00:00Z","color_scheme":"light","locale":"en-US","max_height":20000,"seed":1,
                 "shot_ms":30000,"timezone":"UTC"},
     "shots":[{"id":"home.desktop.initial","path":"/","steps":[],"viewport":{"height":800,"width":1280}}],
     "sweep":[{"path":"/","widths":[320,768,1280]}]}

Canonical JSON; its digest stands in the case's record, so that the same captures can be asked for again. It is a
function of the public contract (`derive`): no selector of an assertion, threshold, weight or reference is in it.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Final, Literal, Self

from cases.contract import (
    LONGEST_ID,
    MOST_SHOTS,
    Contract,
    Part,
    Step,
    check_path,
    check_widths,
    read,
    without_schema,
    write,
)
from store import canonical
from store.canonical import Json
from store.errors import SchemaError

__all__ = ["SCHEMA", "Plan", "PlanShot", "Settings", "Size", "SweepPath", "derive"]

SCHEMA: Final = "rbl/plan/v1"

_ID = re.compile(r"[a-z0-9][a-z0-9_-]*(?:\.[a-z0-9][a-z0-9_-]*)*")


class Settings(Part, frozen=True, omit_defaults=False):
    """How every page is drawn.

    Attributes:
        locale: BCP 47 tag.
        timezone: IANA name.
        color_scheme: what `prefers-color-scheme` answers.
        clock: the page's time at load, in UTC to the second.
        seed: of `Math.random` and `crypto.getRandomValues`.
        max_height: pictures are cut there, in CSS pixels.
        shot_ms: bound on one shot, three pictures included.
    """

    locale: str = "en-US"
    timezone: str = "UTC"
    color_scheme: Literal["light", "dark"] = "light"
    clock: str = "2026-01-01T00:00:00Z"
    seed: int = 1
    max_height: int = 20_000
    shot_ms: int = 30_000

    def __post_init__(self) -> None:
        if re.fullmatch(r"[a-z]{2,3}(?:-[A-Za-z0-9]{2,8})*", self.locale) is None:
            raise ValueError(f"{self.locale!r} is not a locale such as en-US")
        if re.fullmatch(r"[A-Za-z][A-Za-z0-9_+-]*(?:/[A-Za-z0-9_+-]+){0,2}", self.timezone) is None:
            raise ValueError(f"{self.timezone!r} is not a time zone such as UTC or Europe/Berlin")
        _check_clock(self.clock)
        for name, value, most in (
            ("seed", self.seed, 2**32 - 1),
            ("max_height", self.max_height, 32_000),
            ("shot_ms", self.shot_ms, 600_000),
        ):
            if not 1 <= value <= most:
                raise ValueError(f"{name} is 1 to {most}, not {value}")


class Size(Part, frozen=True):
    """A window, in CSS pixels."""

    width: int
    height: int


class PlanShot(Part, frozen=True):
    """One (route, viewport, state): load the path, take the steps, look. `id` is `route.viewport.state`."""

    id: str
    path: str
    viewport: Size
    steps: tuple[Step, ...]

    def __post_init__(self) -> None:
        if _ID.fullmatch(self.id) is None or len(self.id) > LONGEST_ID:
            raise ValueError(f"{self.id!r} is not the id of a shot")
        check_path(self.path)
        check_widths((self.viewport.width,))
        check_widths((self.viewport.height,))


class SweepPath(Part, frozen=True):
    """Widths at which a path's horizontal overflow is looked at."""

    path: str
    widths: tuple[int, ...]

    def __post_init__(self) -> None:
        check_path(self.path)
        check_widths(self.widths)


class Plan(Part, frozen=True):
    """All that the driver is told."""

    settings: Settings
    shots: tuple[PlanShot, ...]
    sweep: tuple[SweepPath, ...]

    def __post_init__(self) -> None:
        if not 0 < len(self.shots) <= MOST_SHOTS:
            raise ValueError(f"a plan has 1 to {MOST_SHOTS} shots")
        if len({shot.id for shot in self.shots}) != len(self.shots):
            raise ValueError("a shot's id stands twice")
        if len({sweep.path for sweep in self.sweep}) != len(self.sweep):
            raise ValueError("a swept path stands twice")

    @classmethod
    def from_json(cls, value: Json) -> Self:
        """Read the JSON value of a plan.

        Raises:
            SchemaError: it has another shape.
        """
        return read(cls, without_schema(value, SCHEMA, "plan"), "plan")

    def to_json(self) -> Json:
        """Its JSON value."""
        return {"schema": SCHEMA, **write(self)}

    @classmethod
    def parse(cls, data: bytes) -> Self:
        """Read a plan's bytes.

        Raises:
            CanonicalError: not canonical JSON.
            SchemaError: it is not what `format` writes.
        """
        found = cls.from_json(canonical.loads(data))
        if found.format() != data:
            raise SchemaError("plan: a field is missing, or written though it means its absence")
        return found

    def format(self) -> bytes:
        """The one canonical form."""
        return canonical.dumps(self.to_json())

    def shot(self, name: str) -> PlanShot | None:
        """The shot of that id."""
        return next((shot for shot in self.shots if shot.id == name), None)


def derive(contract: Contract, settings: Settings | None = None) -> Plan:
    """The plan that captures a contract's whole matrix; its sweep goes over every route."""
    return Plan(
        settings=settings or Settings(),
        shots=tuple(
            PlanShot(shot.id, route.path, Size(viewport.width, viewport.height), state.steps)
            for shot, route, viewport, state in contract.matrix()
        ),
        sweep=tuple(SweepPath(route.path, contract.sweep) for route in contract.routes) if contract.sweep else (),
    )


def _check_clock(clock: str) -> None:
    try:
        moment = datetime.strptime(clock, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC)
    except ValueError as error:
        raise ValueError(f"{clock!r} is not a time such as 2026-01-01T00:00:00Z") from error
    if moment.strftime("%Y-%m-%dT%H:%M:%SZ") != clock:
        raise ValueError(f"{clock!r} is not written as 2026-01-01T00:00:00Z")
