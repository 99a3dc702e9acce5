"""`hullabaloo demo`: the whole job on a real survey that is public, offline, in a minute."""
