"""What a user can look at after a fit: everything, by name."""

import pickle
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import hullabaloo as hb
from hullabaloo.errors import HullabalooError
from hullabaloo.privacy import GaussianEvent
from hullabaloo.report import card


def of_model(model: Any, folder: Path) -> Mapping[str, Any]:
    """All that a fitted estimator gives: attributes, release, files, a pickle; and what is written of its price."""
    model.save(folder / "model.json")
    again = hb.load(folder / "model.json")
    plain = isinstance(model.statement_.event, GaussianEvent)  # others are priced for seconds, from the same statement
    return {
        **(_written(model) if plain else {}),
        "attributes": {name: value for name, value in vars(model).items() if name.endswith("_")},
        "theta": model.release_.theta,
        "statement": model.statement_.to_dict(),
        "plan": dict(model.release_.plan),
        "trace": list(model.release_.trace),
        "release": model.release_.to_dict(),
        "parameters": model.get_params(deep=False),
        "repr": repr(model) + repr(model.release_),
        "pickle": pickle.dumps(model),
        "loaded": again.release_.theta,
    }


def _written(model: Any) -> Mapping[str, Any]:
    made = card(model)
    return {
        "card": (made.to_json(), str(made)),
        "sentences": str(model.statement_) + model.statement_._repr_html_(),
        "summary": _summary(model),
    }


def _summary(model: Any) -> Any:
    try:
        summary = model.summary()
    except HullabalooError as error:
        return str(error)
    return str(summary), summary._repr_html_(), summary.to_dict()


def of_ledger(ledger: hb.Ledger, dataset: str) -> Mapping[str, Any]:
    """What the ledger holds of a dataset."""
    return {"charges": list(ledger.charges(dataset)), "remaining": ledger.remaining(dataset)}
