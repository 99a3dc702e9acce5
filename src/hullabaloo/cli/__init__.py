"""The command line: a thin shell over public functions. Typer and Rich are imported only when it runs."""

import os
import sys

from hullabaloo.lazy import later

EXTRA = 'The command line needs the libraries typer and rich. Install them with: pip install "hullabaloo[cli]"'


def main() -> None:
    """Run the command `hullabaloo`; exits with the codes listed in `hullabaloo.cli.boundary`."""
    _open_streams()
    later("pandas", "scipy.stats")  # which scikit-learn imports, and most commands never use
    try:
        from hullabaloo.cli.app import app
    except ModuleNotFoundError as missing:
        if (missing.name or "").partition(".")[0] not in {"typer", "rich", "click"}:
            raise
        print(EXTRA, file=sys.stderr)
        sys.exit(4)
    app()


def _open_streams() -> None:
    """Stand-ins for standard streams that the process was begun without: else files that it opens have their numbers, and words would be written into these."""
    for name in ("stdin", "stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_WRONLY), "w"))  # the least number that is free


__all__ = ["main"]
