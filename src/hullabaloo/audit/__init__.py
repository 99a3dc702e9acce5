"""Audits: what runs of an estimator on worst-case neighbouring tables prove about its privacy."""

from hullabaloo.audit.estimator import audit
from hullabaloo.audit.report import AuditReport
from hullabaloo.lazy import callable_as

__all__ = ["AuditReport", "audit"]

callable_as(__name__, audit)
