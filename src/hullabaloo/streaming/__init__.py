"""Streams: models that are current and private while records arrive."""
