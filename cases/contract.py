"""The viewport-state contract: the finite matrix route × viewport × state that a case promises to be judged on.

    {"build":{"argv":["vite","build"],"output":"dist"},
     "main":{"route":"home","state":"initial","viewport":"desktop"},
     "routes":[{"name":"home","path":"/"}],
     "schema":"rbl/contract/v1",
     "states":[{"name":"initial","route":"home","steps":[]},
               {"name":"menu","route":"home","steps":[{"do":"click","target":{"name":"Menu","role":"button"}}],
                "viewports":["phone"]}],
     "sweep":[320,768,1280],
     "viewports":[{"height":800,"name":"desktop","width":1280},{"height":740,"name":"phone","width":360}]}

It is `contract.json` of the public package, canonical JSON, read by Candidates. A state without `viewports` holds at
all of them. An empty `argv` means that there is no build step, output `.` the workspace itself. The words of a step are
Playwright's. It holds no assertion, threshold or weight, and it captures nothing: `cases.plan` turns it into shots.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final, Literal, Self, TypeVar, cast

import msgspec

from store import canonical
from store.canonical import Json
from store.errors import SchemaError

__all__ = [
    "SCHEMA",
    "BuildRecipe",
    "Contract",
    "Locator",
    "MainShot",
    "Part",
    "Route",
    "State",
    "Step",
    "Verb",
    "Viewport",
    "read",
    "write",
]

SCHEMA: Final = "rbl/contract/v1"

Verb = Literal["click", "fill", "press", "hover", "select", "check", "reload", "back", "resize", "scroll"]

NAME: Final = re.compile(r"[a-z0-9][a-z0-9_-]{0,31}")
"""A route, viewport or state: no dot, because a shot's id joins three of them with dots."""

LONGEST_ID: Final = 64
SHORTEST_EDGE: Final = 100
LONGEST_EDGE: Final = 4096
MOST_SHOTS: Final = 128
MOST_STEPS: Final = 64
LONGEST_TEXT: Final = 2000

_PATH = re.compile(r"/(?:[A-Za-z0-9._~!$&'()*+,;=:@%-]+/?)*(?:\?[^\s#\\]*)?(?:#[^\s\\]*)?")
_SIZE = re.compile(r"([1-9][0-9]{1,3})x([1-9][0-9]{1,3})")
_POSITION = re.compile(r"0|[1-9][0-9]{0,5}")

_NEEDS_TARGET: Final[frozenset[str]] = frozenset({"click", "fill", "hover", "select", "check"})
_NEEDS_VALUE: Final[frozenset[str]] = frozenset({"fill", "press", "select", "resize"})
_TAKES_NOTHING: Final[frozenset[str]] = frozenset({"reload", "back"})

T = TypeVar("T")


class Part(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A piece of a case's document: typed, immutable, without fields that the format does not name."""


def read(wanted: type[T], value: Json, what: str) -> T:
    """The typed form of a JSON value.

    Raises:
        SchemaError: it has another shape; the message names the place as msgspec does (`$.states[0].name`).
    """
    try:
        return msgspec.convert(value, wanted)
    except msgspec.ValidationError as error:
        raise SchemaError(f"{what}: {error}") from error


def write(value: msgspec.Struct) -> Json:
    """The JSON value of a typed document."""
    return _lists(msgspec.to_builtins(value))


def _lists(value: Json) -> Json:
    if isinstance(value, dict):
        return {key: _lists(item) for key, item in value.items()}
    return [_lists(item) for item in value] if isinstance(value, tuple | list) else value


class Locator(Part, frozen=True):
    """How an element is found: exactly one of five ways, and a `name` only beside `role`.

    Attributes:
        role: ARIA role; `name` is then the accessible name, matched whole after white space is collapsed.
        text: own visible text, matched whole after white space is collapsed.
        label: text of its label, or its accessible name.
        testid: value of `data-testid`.
        css: a CSS selector.
    """

    role: str | None = None
    name: str | None = None
    text: str | None = None
    label: str | None = None
    testid: str | None = None
    css: str | None = None

    def __post_init__(self) -> None:
        ways = [way for way in (self.role, self.text, self.label, self.testid, self.css) if way is not None]
        if len(ways) != 1:
            raise ValueError("a locator is exactly one of role, text, label, testid, css")
        if self.name is not None and self.role is None:
            raise ValueError("name stands only beside role")
        if not ways[0] or any(len(text) > LONGEST_TEXT for text in (*ways, self.name or "")):
            raise ValueError(f"a locator's text has 1 to {LONGEST_TEXT} characters")

    @property
    def way(self) -> Literal["role", "text", "label", "testid", "css"]:
        """Which of the five it is."""
        if self.role is not None:
            return "role"
        if self.text is not None:
            return "text"
        if self.label is not None:
            return "label"
        return "testid" if self.testid is not None else "css"

    @property
    def value(self) -> str:
        """What it looks for, in that way."""
        return cast("str", getattr(self, self.way))

    @classmethod
    def from_json(cls, value: Json) -> Self:
        """Read one locator.

        Raises:
            SchemaError: it has another shape.
        """
        return read(cls, value, "locator")

    def to_json(self) -> Json:
        """Its JSON value."""
        return write(self)


class Step(Part, frozen=True):
    """One action on the page.

    Attributes:
        do: the verb.
        target: on what; `press` without one goes to the focused element, `scroll` with one scrolls it into view.
        value: text to fill; key to press (`Enter`, `Control+a`); option to select; `800x600` for resize; vertical
            position in CSS pixels for scroll.
    """

    do: Verb
    target: Locator | None = None
    value: str | None = None

    def __post_init__(self) -> None:
        if self.do in _TAKES_NOTHING and (self.target is not None or self.value is not None):
            raise ValueError(f"{self.do} takes neither target nor value")
        if self.do in _NEEDS_TARGET and self.target is None:
            raise ValueError(f"{self.do} needs a target")
        if self.do in _NEEDS_VALUE and self.value is None:
            raise ValueError(f"{self.do} needs a value")
        if self.do in {"click", "hover", "check"} and self.value is not None:
            raise ValueError(f"{self.do} takes no value")
        if self.value is not None and len(self.value) > LONGEST_TEXT:
            raise ValueError(f"a value has at most {LONGEST_TEXT} characters")
        if self.do == "resize":
            self._check_resize()
        if self.do == "scroll":
            self._check_scroll()

    def _check_resize(self) -> None:
        match = _SIZE.fullmatch(self.value or "")
        if self.target is not None or match is None:
            raise ValueError("resize takes only a value such as 800x600")
        _check_edges(int(match[1]), int(match[2]))

    def _check_scroll(self) -> None:
        if (self.target is None) == (self.value is None):
            raise ValueError("scroll takes either a target or a value")
        if self.value is not None and _POSITION.fullmatch(self.value) is None:
            raise ValueError("scroll takes a position in CSS pixels, such as 600")


class Route(Part, frozen=True):
    """A page of the site. `path` begins with a slash and may have a query and a fragment."""

    name: str
    path: str

    def __post_init__(self) -> None:
        _check_name(self.name)
        check_path(self.path)


class Viewport(Part, frozen=True):
    """A size of the window, in CSS pixels at device scale factor 1."""

    name: str
    width: int
    height: int

    def __post_init__(self) -> None:
        _check_name(self.name)
        _check_edges(self.width, self.height)


class State(Part, frozen=True):
    """What a route looks like after some steps. `viewports` null means all of them."""

    name: str
    route: str
    steps: tuple[Step, ...]
    viewports: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        _check_name(self.name)
        if len(self.steps) > MOST_STEPS:
            raise ValueError(f"a state has at most {MOST_STEPS} steps")
        if self.viewports is not None and not self.viewports:
            raise ValueError("viewports is left out to mean all; it is never empty")


class MainShot(Part, frozen=True):
    """The shot on which the whole composition is judged."""

    route: str
    viewport: str
    state: str

    @property
    def id(self) -> str:
        """Id of the shot."""
        return f"{self.route}.{self.viewport}.{self.state}"


class BuildRecipe(Part, frozen=True):
    """How a workspace becomes a site.

    Attributes:
        argv: program and arguments, run in the workspace without network; empty when there is nothing to build.
        output: folder that is served, relative to the workspace; `.` is the workspace itself.
    """

    argv: tuple[str, ...]
    output: str

    def __post_init__(self) -> None:
        if any(not word or "\0" in word for word in self.argv):
            raise ValueError("argv holds no empty word and no NUL")
        parts = self.output.split("/")
        if self.output != "." and any(part in {"", ".", ".."} or "\\" in part or "\0" in part for part in parts):
            raise ValueError("output is . or a relative path without .. such as dist")


class Contract(Part, frozen=True):
    """The matrix. Cross references are checked when it is made."""

    routes: tuple[Route, ...]
    viewports: tuple[Viewport, ...]
    states: tuple[State, ...]
    main: MainShot
    sweep: tuple[int, ...]
    build: BuildRecipe

    def __post_init__(self) -> None:
        _check_unique("route", (route.name for route in self.routes))
        _check_unique("path", (route.path for route in self.routes))
        _check_unique("viewport", (viewport.name for viewport in self.viewports))
        _check_unique("state", (f"{state.route}.{state.name}" for state in self.states))
        routes = {route.name for route in self.routes}
        viewports = {viewport.name for viewport in self.viewports}
        for state in self.states:
            if state.route not in routes:
                raise ValueError(f"state {state.name} names route {state.route}, which is not there")
            _check_unique(f"viewport of state {state.name}", state.viewports or ())
            for name in state.viewports or ():
                if name not in viewports:
                    raise ValueError(f"state {state.name} names viewport {name}, which is not there")
        shots = [shot.id for shot, _, _, _ in self.matrix()]
        if not 0 < len(shots) <= MOST_SHOTS:
            raise ValueError(f"a contract has 1 to {MOST_SHOTS} shots, this one {len(shots)}")
        if any(len(shot) > LONGEST_ID for shot in shots):
            raise ValueError(f"route.viewport.state has at most {LONGEST_ID} characters together")
        if self.main.id not in shots:
            raise ValueError(f"the main shot {self.main.id} is not in the matrix")
        check_widths(self.sweep)

    def matrix(self) -> Iterator[tuple[MainShot, Route, Viewport, State]]:
        """Every (route, viewport, state), states in their order and viewports inside each."""
        routes = {route.name: route for route in self.routes}
        for state in self.states:
            for viewport in self.viewports:
                if state.viewports is None or viewport.name in state.viewports:
                    yield MainShot(state.route, viewport.name, state.name), routes[state.route], viewport, state

    @classmethod
    def from_json(cls, value: Json) -> Self:
        """Read the JSON value of a contract.

        Raises:
            SchemaError: it has another shape, or a name refers to nothing.
        """
        return read(cls, without_schema(value, SCHEMA, "contract"), "contract")

    def to_json(self) -> Json:
        """Its JSON value."""
        return {"schema": SCHEMA, **write(self)}

    @classmethod
    def parse(cls, data: bytes) -> Self:
        """Read `contract.json`.

        Raises:
            CanonicalError: not canonical JSON.
            SchemaError: it is not what `format` writes.
        """
        found = cls.from_json(canonical.loads(data))
        if found.format() != data:
            raise SchemaError("contract: a field is written that means its absence", fix="leave out null fields")
        return found

    def format(self) -> bytes:
        """The one canonical form."""
        return canonical.dumps(self.to_json())


def without_schema(value: Json, schema: str, what: str) -> Json:
    """The fields of a document, once its `schema` is the expected one.

    Raises:
        SchemaError: it is not an object, or of another schema.
    """
    if not isinstance(value, dict) or value.get("schema") != schema:
        raise SchemaError(f"{what}: not a document of schema {schema}", fix=f'write "schema":"{schema}"')
    return {key: item for key, item in value.items() if key != "schema"}


def check_path(path: str) -> None:
    """Refuse what is not a path of the served site.

    Raises:
        ValueError: it could leave the site, or hold what an address may not.
    """
    if _PATH.fullmatch(path) is None or len(path) > LONGEST_TEXT or ".." in path.split("?", maxsplit=1)[0].split("/"):
        raise ValueError(f"{path!r} is not a path of the site, such as /about or /#menu")


def check_widths(widths: tuple[int, ...]) -> None:
    """Refuse a sweep that is not rising, or out of bounds.

    Raises:
        ValueError: so.
    """
    if list(widths) != sorted(set(widths)) or any(not SHORTEST_EDGE <= width <= LONGEST_EDGE for width in widths):
        raise ValueError(f"a sweep's widths rise, from {SHORTEST_EDGE} to {LONGEST_EDGE}")


def _check_edges(*edges: int) -> None:
    if any(not SHORTEST_EDGE <= edge <= LONGEST_EDGE for edge in edges):
        raise ValueError(f"a viewport's edges are {SHORTEST_EDGE} to {LONGEST_EDGE} CSS pixels")


def _check_name(name: str) -> None:
    if NAME.fullmatch(name) is None:
        raise ValueError(f"{name!r} is not a name: lower-case letters, digits, - and _, at most 32")


def _check_unique(what: str, names: Iterable[str]) -> None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise ValueError(f"{what} {name} stands twice")
        seen.add(name)
