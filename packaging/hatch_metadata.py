"""What hatchling asks for readme and urls of pyproject.toml."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

sys.path.insert(0, str(Path(__file__).parent))

import addresses


class Addresses(MetadataHookInterface):
    def update(self, metadata: dict[str, Any]) -> None:
        root = Path(self.root)
        known, version = addresses.addresses(root), addresses.version(root)
        text = addresses.readme((root / "README.md").read_text(encoding="utf-8"), known, version)
        metadata["readme"] = {"content-type": "text/markdown", "text": text}
        metadata["urls"] = addresses.urls(known, version)
