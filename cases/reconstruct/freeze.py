"""From captures of a page to a case: the contract, brief, starter, evidence and kit of a frozen page.

    contract = default_contract()                           # one route, two viewports, one state, four widths
    pictures = evidence(reference)                          # home.desktop.initial.png, …
    proposal = propose(case, contract, reference, starter, AuthorKit())
    kit = proposal.without(refused)                         # what the evaluator does not confirm is left out

Pure: captures come as bytes by shot, and what is made are bytes and values. Drawing pages, asking the evaluator and
writing folders is `runners.curation`'s work.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from html import escape
from typing import Final
from urllib.parse import urlsplit

from cases.capture import FULL, PAGE, Capture
from cases.contract import BuildRecipe, Contract, Locator, MainShot, Route, State, Viewport
from cases.kit import OWN_ORIGIN, Assertion, Kit, Region, Shots
from cases.reconstruct import automatic
from cases.reconstruct.author import AuthorKit, RegionRow
from cases.reconstruct.find import rect_of
from ledger.records import kinds
from store.errors import CheckFailed, InputError, RblError

__all__ = [
    "Drawn",
    "Proposal",
    "brief",
    "check_reference",
    "default_contract",
    "dimensions_of",
    "evidence",
    "foreign_origins",
    "propose",
    "read_contract",
    "starter_files",
]


@dataclass(frozen=True, slots=True)
class Drawn:
    """A page, drawn: its captures' files by shot and name, and its `sweep.json`."""

    shots: Shots
    sweep: bytes

    def capture(self, shot: str) -> Capture | None:
        """The page of a shot; null when it was not captured."""
        files = self.shots.get(shot)
        return None if files is None else Capture.parse(files[PAGE])


@dataclass(frozen=True, slots=True)
class Proposal:
    """A kit that the evaluator has not confirmed yet.

    Attributes:
        kit: with all that is proposed.
        automatic: names of regions and assertions that no author declared, as `regions/hero` and `assertions/menu`.
    """

    kit: Kit
    automatic: frozenset[str]

    def without(self, refused: frozenset[str]) -> Kit:
        """The kit less what is refused, named as in `automatic`."""
        return replace(
            self.kit,
            regions=tuple(region for region in self.kit.regions if f"regions/{region.name}" not in refused),
            assertions=tuple(item for item in self.kit.assertions if f"assertions/{item.name}" not in refused),
        )


def default_contract() -> Contract:
    """One page at a desktop's and a telephone's size, as it is after loading, and four widths without overflow."""
    return Contract(
        routes=(Route("home", "/"),),
        viewports=(Viewport("desktop", 1440, 900), Viewport("mobile", 390, 844)),
        states=(State("initial", "home", ()),),
        main=MainShot("home", "desktop", "initial"),
        sweep=(320, 768, 1024, 1440),
        build=BuildRecipe((), "."),
    )


def read_contract(data: bytes, where: str) -> Contract:
    """An author's contract: JSON in any layout.

    Raises:
        InputError: not JSON, or no contract.
    """
    try:
        return Contract.from_json(json.loads(data))
    except (ValueError, RecursionError) as error:
        raise InputError(f"not JSON: {error}", where=where) from error
    except RblError as error:
        raise InputError(error.what, where=where, fix=error.fix) from error


def starter_files(title: str) -> Mapping[str, bytes]:
    """A workspace to begin from: a page with a title and nothing in it. Only for cases without a build step."""
    page = (
        f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<title>{escape(title)}</title>\n<link rel="stylesheet" href="style.css">\n</head>\n<body>\n</body>\n</html>\n'
    )
    readme = "# Starter\n\n`index.html` is served as it stands, with every other file of this folder beside it.\n"
    return {"index.html": page.encode(), "style.css": b"", "README.md": readme.encode()}


def brief(title: str, contract: Contract) -> str:
    """What to build, in words: the matrix, the pictures, the rules."""
    pictures = "\n".join(f"- `evidence/{shot.id}.png`" for shot, _, _, _ in contract.matrix())
    viewports = "\n".join(f"- {view.name}: {view.width} × {view.height} CSS pixels" for view in contract.viewports)
    states = "\n".join(_state_line(state) for state in contract.states)
    sweep = ", ".join(str(width) for width in contract.sweep)
    overflow = f"\nAt widths of {sweep} pixels nothing may scroll sideways.\n" if contract.sweep else ""
    return (
        f"# {title}\n\nRebuild this web page from the pictures in `evidence/`, which lies beside this brief: both are "
        "in `/task`, read-only. Your workspace, the current folder, is the beginning.\n\n"
        f"## Viewports\n\n{viewports}\n{overflow}\n## States\n\n{states}\n\n## Evidence\n\n{pictures}\n\n"
        f"Each picture shows the whole page, named `route.viewport.state`.\n\n## Result\n\n{_result_line(contract)}\n\n"
        "## Rules\n\n"
        "- Never query the source site, nor any other host: pages are built and drawn without network.\n"
        "- A page that asks for anything off its own origin (a web font, a script or an image from elsewhere) scores "
        "0, even though the request is stopped.\n"
        "- Write the page as text, markup and styles. A picture of the page is not the page.\n"
        "- Controls work as their states say, with the roles and names that a reader sees.\n"
        "- `contract.json` says the same in a form for machines.\n"
    )


def check_reference(shots: list[kinds.Shot], reference: Drawn) -> None:
    """Refuse a reference on which nobody could be judged.

    Raises:
        CheckFailed: a shot failed, moved while it was looked at, missed a step, or has images that were not decoded.
    """
    for shot in shots:
        capture = reference.capture(shot.id)
        if shot.error is not None or capture is None:
            raise CheckFailed(
                f"the reference could not be captured: {shot.error}", where=shot.id, fix="mend the source"
            )
        for number, step in enumerate(capture.steps, 1):
            if not step.ok:
                raise CheckFailed(
                    f"step {number} ({step.do}) fails on the reference: {step.error}",
                    where=shot.id,
                    fix="mend the contract's steps",
                )
        if capture.unstable:
            raise CheckFailed(
                f"the reference does not hold still: {', '.join(capture.unstable)}",
                where=shot.id,
                fix="freeze its motion",
            )
        if capture.images.decoded != capture.images.total:
            raise CheckFailed(
                f"{capture.images.decoded} of {capture.images.total} images of the reference were decoded",
                where=shot.id,
                fix="add the missing files to the source",
            )


def evidence(reference: Drawn) -> Mapping[str, bytes]:
    """The pictures that Candidates are given, by file name."""
    return {f"{shot}.png": files[FULL] for shot, files in sorted(reference.shots.items())}


def propose(case: tuple[str, int], contract: Contract, reference: Drawn, starter: Drawn, author: AuthorKit) -> Proposal:
    """A kit from what the author declared and, list by list where nothing was declared, from the captures.

    Args:
        case: id and version.
        contract: the public matrix.
        reference: the source, drawn.
        starter: the starter, drawn by the same plan.
        author: what was declared.

    Raises:
        InputError: a declaration names a shot or viewport that the contract has not, or an element that is not there.
    """
    made: set[str] = set()
    if author.regions is None:
        capture = _capture(reference, contract.main.id, "the main shot")
        regions = automatic.regions(capture, contract.main.id)
        made |= {f"regions/{region.name}" for region in regions}
    else:
        regions = tuple(_declared(row, contract, reference) for row in author.regions)
    declared: list[Assertion] = [row.assertion("functional") for row in author.functional or ()]
    declared += [row.assertion("workflow") for row in author.workflow or ()]
    _check_shots(contract, [(item.name, item.shot) for item in declared])
    proposed: list[Assertion] = []
    if author.functional is None:
        capture = _capture(reference, contract.main.id, "the main shot")
        proposed += automatic.functional(capture, starter.capture(contract.main.id), contract.main.id)
    if author.workflow is None:
        proposed += _workflow(contract, reference)
    taken = {item.name for item in declared}
    proposed = [item for item in proposed if item.name not in taken]
    made |= {f"assertions/{item.name}" for item in proposed}
    names = {view.name for view in contract.viewports}
    for name in author.viewports:
        if name not in names:
            raise InputError(
                f"a weight for viewport {name}, which the contract has not", fix="use the contract's names"
            )
    kit = Kit(
        case=case[0],
        version=case[1],
        regions=regions,
        assertions=(*declared, *proposed),
        viewports={view.name: author.viewports.get(view.name, 1) for view in contract.viewports},
        main=contract.main.id,
        responsive=tuple(shot.id for shot, _, _, state in contract.matrix() if not state.steps),
        origins=foreign_origins(reference) if author.origins is None else author.origins,
    )
    return Proposal(kit, frozenset(made))


def foreign_origins(drawn: Drawn) -> tuple[str, ...]:
    """The origins that a drawn page asked for, its own first: none of the others was reached, or ever is."""
    asked = set()
    for shot in sorted(drawn.shots):
        capture = drawn.capture(shot)
        for request in () if capture is None else capture.requests:
            parts = urlsplit(request.url)
            if request.blocked and parts.scheme in {"http", "https"} and parts.hostname:
                asked.add(f"{parts.scheme}://{parts.netloc}")
    return (OWN_ORIGIN, *sorted(asked - {OWN_ORIGIN}))


def dimensions_of(kit: Kit, contract: Contract) -> tuple[kinds.Dimension, ...]:
    """The dimensions that a kit uses, in their printed order; policy gates every case."""
    judged = {item.dimension for item in kit.assertions}
    used: dict[kinds.Dimension, bool] = {
        "global_visual": True,
        "regional_visual": bool(kit.regions),
        "functional": "functional" in judged,
        "responsive": len(contract.viewports) > 1 or bool(contract.sweep),
        "workflow": "workflow" in judged,
        "preservation": "preservation" in judged,
        "policy": True,
    }
    return tuple(name for name in kinds.DIMENSIONS if used[name])


_VERBS: Final = {
    "reload": "the page is loaded again",
    "back": "the browser goes back",
}


def _state_line(state: State) -> str:
    where = "" if state.viewports is None else f" (at {', '.join(state.viewports)})"
    if not state.steps:
        return f"- {state.name}{where}: after loading"
    steps = "; ".join(
        _VERBS.get(step.do) or " ".join(part for part in (step.do, _target(step.target), step.value or "") if part)
        for step in state.steps
    )
    return f"- {state.name}{where}: {steps}"


def _target(locator: Locator | None) -> str:
    if locator is None:
        return ""
    if locator.role is not None:
        return f"the {locator.role} “{locator.name}”" if locator.name else f"the {locator.role}"
    return f"the element with {locator.way} “{locator.value}”"


def _result_line(contract: Contract) -> str:
    recipe = contract.build
    if not recipe.argv:
        return f"The folder `{recipe.output}` of your workspace is served as it stands; `index.html` is its first page."
    return (
        f"`{' '.join(recipe.argv)}` is run in your workspace without network; the folder `{recipe.output}` is served, "
        "and `index.html` is its first page."
    )


def _capture(drawn: Drawn, shot: str, what: str) -> Capture:
    capture = drawn.capture(shot)
    if capture is None:
        raise InputError(f"{what} is not captured", where=shot)
    return capture


def _workflow(contract: Contract, reference: Drawn) -> Iterator[Assertion]:
    initial = {
        (shot.route, shot.viewport): shot.id
        for shot, _, _, state in reversed(list(contract.matrix()))
        if not state.steps
    }
    for shot, _, _, state in contract.matrix():
        before = initial.get((shot.route, shot.viewport))
        if state.steps and before is not None:
            yield from automatic.workflow(
                _capture(reference, before, "the initial shot"), _capture(reference, shot.id, "a shot"), shot.id
            )


def _check_shots(contract: Contract, named: list[tuple[str, str]]) -> None:
    shots = {shot.id for shot, _, _, _ in contract.matrix()}
    for name, shot in named:
        if shot not in shots:
            raise InputError(
                f"{name} names shot {shot}, which the contract has not", fix=f"use one of {', '.join(sorted(shots))}"
            )


def _declared(row: RegionRow, contract: Contract, reference: Drawn) -> Region:
    _check_shots(contract, [(row.name, row.shot)])
    rect = row.rect
    if rect is None and row.locator is not None:
        found = rect_of(_capture(reference, row.shot, "a region's shot"), row.locator)
        if found is None:
            raise InputError(f"region {row.name} is not on the reference", where=row.shot, fix="mend its locator")
        left, top = max(round(found.x), 0), max(round(found.y), 0)
        rect = (left, top, round(found.x + found.width) - left, round(found.y + found.height) - top)
    assert rect is not None
    return Region(row.name, row.shot, rect, row.locator, row.weight)
