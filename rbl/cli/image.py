"""`rbl image`: build and list the sandbox image."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rbl.cli.app import noun
from rbl.cli.output import AsJson, document

if TYPE_CHECKING:
    from runners.image import Image

app = noun("Build and list the sandbox image. Example: rbl image build")


@app.command()
def build(as_json: AsJson = False) -> None:
    """Build the sandbox image from Debian packages, or find it in the cache. Example: rbl image build"""
    from runners.image import ensure

    _print(ensure(), as_json)


@app.command("list")
def list_images(as_json: AsJson = False) -> None:
    """Show the image that attempts use here. Example: rbl image list"""
    from runners.image import cached

    _print(cached(), as_json)


def _print(image: Image, as_json: bool) -> None:
    if as_json:
        document(
            "image",
            reference=image.reference,
            rootfs=str(image.rootfs),
            packages=str(image.packages),
            browser=image.browser,
            fonts=str(image.fonts),
        )
    else:
        print(f"{image.reference}\n  root filesystem {image.rootfs}\n  packages {image.packages}")
        print(f"  browser {image.browser}\n  fonts {image.fonts}")
