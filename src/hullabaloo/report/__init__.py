"""Privacy cards and plots: what a release guarantees, for people who did not make it."""

from hullabaloo.lazy import lazily

__getattr__, __dir__, __all__ = lazily(__name__)
