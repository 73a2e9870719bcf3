"""Reconstruction cases: a real page, frozen."""
