"""`hullabaloo demo`: the whole job on a real survey that is public, offline, in a minute."""

from hullabaloo.cli.demo.command import demo

__all__ = ["demo"]
