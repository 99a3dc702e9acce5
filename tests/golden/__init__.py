"""What the library computes today under fixed test keys, kept so that no later change of its shape changes a bit of it."""
