"""Decisions as pure functions: no trio, no clock, no disk, no randomness."""
