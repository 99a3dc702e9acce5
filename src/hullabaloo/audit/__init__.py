"""Audits: what runs of an estimator on worst-case neighbouring tables prove about its privacy."""

import inspect
import sys
from types import ModuleType

from hullabaloo.audit.estimator import audit
from hullabaloo.audit.report import AuditReport

__all__ = ["AuditReport", "audit"]


class _Room(ModuleType):
    """`hb.audit` names this room and its function: the room, once imported, can be called as the function."""

    __call__ = staticmethod(audit)


sys.modules[__name__].__class__ = _Room
__signature__ = inspect.signature(audit)  # else that of a method, without its first parameter
