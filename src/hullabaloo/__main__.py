"""`python -m hullabaloo` is the command `hullabaloo`."""

from hullabaloo.cli import main

main()
