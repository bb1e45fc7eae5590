"""The actors: thin shells over the rules. None imports another."""
