"""What leaves: the release and its privacy statement; and the order in which a fit or a question gets there. Everything is imported on first use (PEP 562)."""

from hullabaloo.lazy import lazily

__getattr__, __dir__, __all__ = lazily(__name__)
