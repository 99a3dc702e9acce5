"""Documents of an earlier version, frozen labels, and the cases that show both."""
