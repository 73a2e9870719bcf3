"""Freezing a page into a case: pure over captures and trees; what needs a container is `runners.curation`."""
