"""Typer's runner, which makes all commands anew for each call: here they are made once."""

from functools import cache

from typer import main, testing

CliRunner, testing._get_command = testing.CliRunner, cache(main.get_command)
