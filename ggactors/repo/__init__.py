"""The one door to git. Law: dulwich stores, this package decides and writes; nothing of a repository's own is ever executed."""
