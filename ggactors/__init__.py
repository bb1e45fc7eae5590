"""ggactors: a crew of LLM coding agents over one workspace."""

__version__ = "0.1.0"
