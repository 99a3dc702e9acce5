"""The neighbouring relation: which two tables a guarantee declares hard to tell apart."""

from enum import StrEnum

from hullabaloo.errors import InvalidParameter


class Neighbours(StrEnum):
    """Which pairs of tables count as neighbours.

    ``REPLACE_ONE``: the same number n of records, one of them (one unit's) replaced; n is public.
    ``ADD_OR_REMOVE``: one record (one unit's) more or fewer; n is private, a declared nominal number replaces it.

    Nothing in the core has a default relation: it is always stated. Sources: Dwork & Roth 2014, §2.3; Kifer &
    Machanavajjhala 2011 for the difference ("bounded" and "unbounded" privacy).
    """

    REPLACE_ONE = "replace-one"
    ADD_OR_REMOVE = "add-or-remove"

    @property
    def copies(self) -> float:
        """How many records tell two neighbouring tables of records apart, counted in contributions to a sum: the one that went and the one that came."""
        return 2.0 if self is Neighbours.REPLACE_ONE else 1.0

    @classmethod
    def parse(cls, value: object) -> "Neighbours":
        """Read a relation from itself or from its name; raise InvalidParameter for anything else."""
        if isinstance(value, str):
            name = value.strip().lower().replace("_", "-").replace(" ", "-")
            for relation in cls:
                if name == relation.value:
                    return relation
        raise InvalidParameter(
            f"neighbours={value!r} names no neighbouring relation. The guarantee, the sensitivities and the record count "
            "that may be published all depend on it, so it cannot be guessed. Write 'replace-one' (one record is "
            "replaced, the number of records is public) or 'add-or-remove' (one record more or fewer, the number of records is private)."
        )
