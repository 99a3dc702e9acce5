"""The command line: a thin shell over public functions. Typer and Rich are imported only when it runs."""

import sys

from hullabaloo.lazy import later

EXTRA = 'The command line needs the libraries typer and rich. Install them with: pip install "hullabaloo[cli]"'


def main() -> None:
    """Run the command `hullabaloo`; exits with the codes listed in `hullabaloo.cli.boundary`."""
    later("pandas", "scipy.stats")  # which scikit-learn imports, and most commands never use
    try:
        from hullabaloo.cli.app import app
    except ModuleNotFoundError as missing:
        if (missing.name or "").partition(".")[0] not in {"typer", "rich", "click"}:
            raise
        print(EXTRA, file=sys.stderr)
        sys.exit(4)
    app()


__all__ = ["main"]
