"""Planted bugs: realistic privacy bugs, put into the real library one at a time, and the tests that catch each.

A bug is six lines in `bugs/`: a name, a sentence, a module, a text that occurs in it, what replaces the text, and the tests that
catch it, the quickest first. `nursery.py` runs tests on the library with one bug in it, in a process of its own; every other
module is the real one, and nothing is written beside the sources. `python -m tests.planted` lists the bugs, and runs one.
"""
