"""Readers of tables: one decoder a format, all behind `Table`."""
