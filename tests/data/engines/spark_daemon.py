"""What Spark forks its workers from, with what they need imported: each of its own would take seconds."""

from pyspark.daemon import manager

import tests.data.engines.fits  # noqa: F401

if __name__ == "__main__":
    manager()
