"""What the theorems say, as functions: upper and lower bounds, Gaussian widths, curvature, hard instances and fingerprinting codes.

Nothing here reads a record or spends a budget. Each function states its formula, units and conditions; its `Source:` names a paper and an item:
000 is Talwar, Thakurta, Zhang 2015, 001 Kumar, Deisenroth 2019, 002 Talwar, Thakurta, Zhang 2014, 003 Kasiviswanathan, Nissim, Jin 2017, 004 Mangold,
Bellet, Salmon, Tommasi 2022.
"""

from hullabaloo.lazy import lazily

__getattr__, __dir__, __all__ = lazily(__name__)
