"""The examples in the pages beside the schemas."""

from __future__ import annotations

import json
import re
from typing import Any

from schemas import registry


def example(name: str) -> Any:
    (found,) = re.findall(r"^## Example$.*?^```json\n(.*?)^```$", registry.page(name), re.DOTALL | re.MULTILINE)
    return json.loads(found)
