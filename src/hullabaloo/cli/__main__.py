"""`python -m hullabaloo.cli` is the command `hullabaloo`."""

from hullabaloo.cli import main

main()
