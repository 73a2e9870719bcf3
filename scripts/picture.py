"""Draws the README's picture from a real demo folder: the leaderboard, and what each entry's page looked like.

python scripts/picture.py demo docs/demo.png

Reads the release's results and the recorded captures, writes one PNG by the machine's Chromium. It is no part of `rbl`.
"""

from __future__ import annotations

import base64
import io
import sys
from html import escape
from pathlib import Path

from PIL import Image
from playwright.sync_api import sync_playwright

from ledger.folder import Folder
from ledger.reader import Ledger
from ledger.release.report import decimal_text, parse_results
from store.directory import load_tree

STYLE = """
body { margin: 0; padding: 28px 32px; width: 1136px; background: #fbfaf7; color: #1c2024;
  font: 15px/1.45 system-ui, 'DejaVu Sans', sans-serif }
h1 { font-size: 19px; margin: 0 0 2px } p { margin: 0 0 14px; color: #5b6470; font-size: 13px }
table { border-collapse: collapse; width: 100%; margin-bottom: 20px; font-variant-numeric: tabular-nums }
th, td { text-align: right; padding: 7px 8px; border-bottom: 1px solid #ddd8cc; font-size: 13.5px }
th { font-weight: 600; color: #5b6470 } th:nth-child(-n+2), td:nth-child(-n+2) { text-align: left }
td b { font-size: 15px }
.row { display: grid; grid-template-columns: repeat(4, 1fr); gap: 14px }
figure { margin: 0 } figcaption { font-size: 12.5px; color: #5b6470; padding-top: 6px }
img { width: 100%; height: 300px; object-fit: contain; object-position: top; background: #fff;
  border: 1px solid #ddd8cc;
  border-radius: 4px }
code { font: 12px 'DejaVu Sans Mono', monospace }
"""


def main(place: str, target: str) -> None:
    """Draw the picture.

    Args:
        place: a demo folder.
        target: the PNG to write.
    """
    folder = Folder.open(Path(place))
    ledger = Ledger.open(folder)
    release = ledger.release("demo")
    report = parse_results(folder.store.get(release.body.results))
    shot = "home.desktop.initial"
    case = ledger.case("bindery").body
    figures = [
        figure(folder.store.get(entry(folder, case.evidence, f"{shot}.png")), "evidence: what the page looks like")
    ]
    for records in ledger.attempts():
        tree = next(found.tree for found in records.captures.body.shots if found.id == shot)
        caption = f"{records.opened.body.entry.id}: {decimal_text(records.evaluation.body.verdict.total)}"
        figures.append(figure(folder.store.get(entry(folder, tree, "full.png")), caption))
    names = list(report.rows[0].dimensions)
    head = "".join(f"<th>{escape(name.replace('_', ' '))}" for name in names)
    body = "".join(
        f"<tr><td>{row.rank}<td>{escape(row.entry)}<td><b>{decimal_text(row.score)}</b><td>{row.valid}/{row.scheduled}"
        + "".join(f"<td>{decimal_text(row.dimensions[name])}" for name in names)
        for row in report.rows
    )
    page = (
        f"<!doctype html><meta charset=utf-8><style>{STYLE}</style><h1>release demo</h1>"
        f"<p>{len(ledger.records)} signed records · root <code>{release.body.root}</code></p>"
        f"<table><tr><th>rank<th>entry<th>score<th>valid{head}{body}</table><div class=row>{''.join(figures)}</div>"
    )
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
        drawing = browser.new_page(viewport={"width": 1200, "height": 400}, device_scale_factor=1)
        drawing.set_content(page)
        drawing.screenshot(path=target, full_page=True)
        browser.close()
    Image.open(target).convert("P", palette=Image.Palette.ADAPTIVE, colors=128).save(target, optimize=True)


def entry(folder: Folder, tree: object, path: str) -> object:
    """The digest of a file in a tree."""
    return load_tree(folder.store, tree).get(path).digest


def figure(png: bytes, caption: str) -> str:
    """One picture with its caption, small enough for a README."""
    picture = Image.open(io.BytesIO(png)).convert("RGB")
    picture.thumbnail((540, 2000))
    data = io.BytesIO()
    picture.save(data, "PNG")
    source = base64.b64encode(data.getvalue()).decode()
    return f"<figure><img src='data:image/png;base64,{source}'><figcaption>{escape(caption)}</figcaption></figure>"


main(*sys.argv[1:])
