"""Agents: one adapter a file, found by name in `runners.agents.registry`."""
