"""Hullabaloo: linear models learned from sensitive records, under differential privacy.

Everything public is imported on first use (PEP 562), so that `import hullabaloo` takes a fraction of a second.
"""

from hullabaloo._version import __version__ as __version__
from hullabaloo.lazy import lazily

__getattr__, __dir__, __all__ = lazily(__name__)
