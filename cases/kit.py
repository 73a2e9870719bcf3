"""The sealed kit: what the evaluator alone knows of a case, as one deterministic tar.

    salt                                   32 random bytes, always the first member
    kit.json                               canonical JSON, below
    reference-sweep.json                   the sweep of the reference (`rbl/sweep/v1`)
    reference/home.desktop.initial/full.png    the capture of the reference, one folder a shot
    starter/home.desktop.initial/full.png      the capture of the starter, where there is one

    {"assertions":[{"attribute":null,"dimension":"functional","expect":"visible","name":"sum","shot":"home.desktop.initial",
      "target":{"text":"Total"},"value":null,"weight":1}],"case":{"id":"pricing","version":1},"main":"home.desktop.initial",
     "origins":["http://localhost"],"regions":[{"locator":{"css":"nav"},"name":"nav","rect":[0,0,1440,64],
      "shot":"home.desktop.initial","weight":2}],"responsive":["home.desktop.initial"],"schema":"rbl/kit/v1",
     "viewports":{"desktop":1}}

The `case` record commits to the SHA-256 of this tar; the salt keeps the commitment hiding. At rest the tar is encrypted
with age to the evaluator's recipient. Weights and selectors are read here and judged in `sealed`; nothing on the
Candidate's side may import this module, and nothing is judged in it.
"""

from __future__ import annotations

import io
import tarfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal, Self

from cases.age import new_identity, seal, unseal
from cases.contract import Locator
from schemas.registry import check
from store import canonical
from store.canonical import Json
from store.digest import Digest
from store.errors import InputError

__all__ = [
    "CAPTURE_FILES",
    "OWN_ORIGIN",
    "Assertion",
    "Kit",
    "OpenedKit",
    "Region",
    "commitment",
    "new_identity",
    "open_kit",
    "seal",
    "unseal",
    "viewport_of",
]

SCHEMA: Final = "rbl/kit/v1"
SALT_BYTES: Final = 32
OWN_ORIGIN: Final = "http://localhost"
"""The origin that every page is served from when it is drawn; any port of it."""
CAPTURE_FILES: Final = ("bare.png", "full.png", "nt.png", "page.json")
"""What the capture of one shot holds, in the order of the tar."""

Judged = Literal["functional", "workflow", "preservation"]
Expectation = Literal[
    "visible",
    "hidden",
    "text",
    "value",
    "count",
    "url",
    "attribute",
    "focused",
    "accessible-name",
    "storage",
    "checked",
]
Shots = Mapping[str, Mapping[str, bytes]]
"""Shot id to file name to bytes."""


@dataclass(frozen=True, slots=True)
class Region:
    """A part of the reference that is scored by itself.

    Attributes:
        name: unique among the regions.
        shot: the shot it lies in.
        rect: x, y, width, height in px of the reference.
        locator: finds it in the candidate; None where only a search can.
        weight: its share of the dimension.
    """

    name: str
    shot: str
    rect: tuple[int, int, int, int]
    locator: Locator | None
    weight: int


@dataclass(frozen=True, slots=True)
class Assertion:
    """One thing that must hold of a captured state.

    Attributes:
        name: unique among the assertions.
        shot: the shot it is judged on.
        dimension: the dimension it counts in.
        target: the node it is about; None for `url`, and for `storage`, which are about the page.
        expect: what must hold.
        attribute: name of the attribute (`attribute`), or `local:key` and `session:key` (`storage`).
        value: what is compared; None where `expect` compares nothing, or where presence is enough.
        weight: its share of the dimension.
    """

    name: str
    shot: str
    dimension: Judged
    target: Locator | None
    expect: Expectation
    attribute: str | None = None
    value: str | int | None = None
    weight: int = 1


@dataclass(frozen=True, slots=True)
class Kit:
    """The rules of a sealed kit, without its pictures.

    Attributes:
        case: id of the case.
        version: its version.
        regions: what `regional_visual` scores.
        assertions: what `functional`, `workflow` and `preservation` score.
        viewports: weight of each viewport in `responsive`.
        main: the shot of `global_visual`.
        responsive: the shots of `responsive`.
        origins: the origins a page may ask for, beside `data:`, `blob:` and `about:`.
    """

    case: str
    version: int
    regions: tuple[Region, ...]
    assertions: tuple[Assertion, ...]
    viewports: Mapping[str, int]
    main: str
    responsive: tuple[str, ...]
    origins: tuple[str, ...] = (OWN_ORIGIN,)

    def __post_init__(self) -> None:
        for what, names in (
            ("region", [region.name for region in self.regions]),
            ("assertion", [assertion.name for assertion in self.assertions]),
            ("responsive shot", list(self.responsive)),
        ):
            if len(set(names)) != len(names):
                raise InputError(
                    f"a {what} is named twice in the kit of {self.case}", fix="give each a name of its own"
                )
        for shot in self.responsive:
            if viewport_of(shot) not in self.viewports:
                raise InputError(
                    f"no weight for the viewport of responsive shot {shot}",
                    where=f"kit of {self.case}",
                    fix="add it to `viewports`",
                )

    @property
    def shots(self) -> tuple[str, ...]:
        """Every shot the kit judges, sorted."""
        named = {self.main, *self.responsive}
        named |= {region.shot for region in self.regions} | {assertion.shot for assertion in self.assertions}
        return tuple(sorted(named))

    @property
    def pictured(self) -> tuple[str, ...]:
        """The shots that are compared as pictures, and therefore need a reference; sorted."""
        return tuple(sorted({self.main, *self.responsive} | {region.shot for region in self.regions}))

    @classmethod
    def parse(cls, data: bytes) -> Self:
        """Read `kit.json`.

        Raises:
            CanonicalError: not canonical JSON.
            SchemaError: not a kit.
            InputError: a name twice, or a responsive shot without weight.
        """
        document = canonical.loads(data)
        check("kit", document)
        return cls(
            case=document["case"]["id"],
            version=document["case"]["version"],
            regions=tuple(_region(item) for item in document["regions"]),
            assertions=tuple(_assertion(item) for item in document["assertions"]),
            viewports=document["viewports"],
            main=document["main"],
            responsive=tuple(document["responsive"]),
            origins=tuple(document["origins"]),
        )

    def format(self) -> bytes:
        """Write `kit.json`, the inverse of `parse`.

        Raises:
            SchemaError: a value that the schema does not allow.
        """
        document = {
            "schema": SCHEMA,
            "case": {"id": self.case, "version": self.version},
            "regions": [_region_json(region) for region in self.regions],
            "assertions": [_assertion_json(assertion) for assertion in self.assertions],
            "viewports": dict(self.viewports),
            "main": self.main,
            "responsive": list(self.responsive),
            "origins": list(self.origins),
        }
        check("kit", document)
        return canonical.dumps(document)

    def pack(self, salt: bytes, references: Shots, starters: Shots, reference_sweep: bytes) -> bytes:
        """The deterministic tar: the same arguments give the same bytes.

        Args:
            salt: 32 random bytes.
            references: captures of the reference by shot, each with the four `CAPTURE_FILES`.
            starters: captures of the starter, likewise; a shot may be missing.
            reference_sweep: `sweep.json` of the reference.

        Raises:
            InputError: a wrong salt, a capture with other files, or a pictured shot without reference.
        """
        return _pack(self, salt, references, starters, reference_sweep)


@dataclass(frozen=True, slots=True)
class OpenedKit:
    """A kit tar, opened. `salt` must stay as secret as the kit."""

    kit: Kit
    salt: bytes = field(repr=False)
    references: Shots = field(repr=False)
    starters: Shots = field(repr=False)
    reference_sweep: bytes = field(repr=False)


def viewport_of(shot: str) -> str:
    """The viewport of a shot id: `desktop` of `home.desktop.initial`.

    Raises:
        InputError: the id has not three parts.
    """
    parts = shot.split(".")
    if len(parts) != len(("route", "viewport", "state")):
        raise InputError(f"not a shot id: {shot!r}", fix="write route.viewport.state")
    return parts[1]


def commitment(data: bytes) -> Digest:
    """What the `case` record commits to: the SHA-256 of the plaintext tar."""
    return Digest.of(data)


def open_kit(data: bytes) -> OpenedKit:
    """Read a plaintext kit tar; refuses any bytes that `Kit.pack` would not have written.

    Raises:
        InputError: not such a tar.
    """
    members = _members(data)
    references, starters = _shots(members, "reference"), _shots(members, "starter")
    try:
        salt, sweep = members["salt"], members["reference-sweep.json"]
        opened = OpenedKit(Kit.parse(members["kit.json"]), salt, references, starters, sweep)
    except KeyError as error:
        raise InputError(f"the kit has no {error}", fix="pack it again") from error
    if opened.kit.pack(salt, references, starters, sweep) != data:
        raise InputError("the kit is not in the form that packing writes", fix="pack it again")
    return opened


def _pack(kit: Kit, salt: bytes, references: Shots, starters: Shots, reference_sweep: bytes) -> bytes:
    if len(salt) != SALT_BYTES:
        raise InputError(f"a salt has {SALT_BYTES} bytes, not {len(salt)}")
    missing = [shot for shot in kit.pictured if shot not in references]
    if missing:
        raise InputError(f"no reference capture for shot {missing[0]}", where=f"kit of {kit.case}", fix="capture it")
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as tar:
        _add(tar, "salt", salt)
        _add(tar, "kit.json", kit.format())
        _add(tar, "reference-sweep.json", reference_sweep)
        for folder, shots in (("reference", references), ("starter", starters)):
            for shot in sorted(shots):
                viewport_of(shot)
                if sorted(shots[shot]) != list(CAPTURE_FILES):
                    raise InputError(f"a capture holds {', '.join(CAPTURE_FILES)}", where=f"{folder}/{shot}")
                for name in CAPTURE_FILES:
                    _add(tar, f"{folder}/{shot}/{name}", shots[shot][name])
    return out.getvalue()


def _add(tar: tarfile.TarFile, name: str, data: bytes) -> None:
    member = tarfile.TarInfo(name)
    member.size, member.mode = len(data), 0o444
    tar.addfile(member, io.BytesIO(data))


def _members(data: bytes) -> dict[str, bytes]:
    found: dict[str, bytes] = {}
    try:
        with tarfile.open(fileobj=io.BytesIO(data), mode="r:") as tar:
            for member in tar:
                content = tar.extractfile(member)
                if content is None or member.name in found:
                    raise InputError(f"a kit holds plain files, each once, not {member.name!r}")
                found[member.name] = content.read()
    except tarfile.TarError as error:
        raise InputError(f"not a kit tar: {error}") from error
    return found


def _shots(members: Mapping[str, bytes], folder: str) -> dict[str, dict[str, bytes]]:
    shots: dict[str, dict[str, bytes]] = {}
    for path, data in members.items():
        top, _, rest = path.partition("/")
        if top == folder:
            shot, _, name = rest.partition("/")
            shots.setdefault(shot, {})[name] = data
    return shots


def _region(item: Json) -> Region:
    x, y, width, height = item["rect"]
    return Region(item["name"], item["shot"], (x, y, width, height), _locator(item["locator"]), item["weight"])


def _region_json(region: Region) -> Json:
    return {
        "name": region.name,
        "shot": region.shot,
        "rect": list(region.rect),
        "locator": _locator_json(region.locator),
        "weight": region.weight,
    }


def _assertion(item: Json) -> Assertion:
    return Assertion(**{**item, "target": _locator(item["target"])})


def _assertion_json(assertion: Assertion) -> Json:
    return {
        "name": assertion.name,
        "shot": assertion.shot,
        "dimension": assertion.dimension,
        "target": _locator_json(assertion.target),
        "expect": assertion.expect,
        "attribute": assertion.attribute,
        "value": assertion.value,
        "weight": assertion.weight,
    }


def _locator(item: Json) -> Locator | None:
    return None if item is None else Locator.from_json(item)


def _locator_json(locator: Locator | None) -> Json:
    return None if locator is None else locator.to_json()
