"""Hooks: what the operator has run at the events of a session, and what may hold back an ending, a write or a command (G1)."""
