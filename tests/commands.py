"""Typer's runner, which makes all commands anew for each call: here they are made once."""

from functools import cache

from typer import main, testing
from typer.testing import CliRunner

__all__ = ["CliRunner"]

testing._get_command = cache(main.get_command)
