"""Streams: models that are current and private while records arrive. Everything is imported on first use (PEP 562)."""

from hullabaloo.lazy import lazily

__getattr__, __dir__, __all__ = lazily(__name__)
