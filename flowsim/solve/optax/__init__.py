"""Descent of ordinary networks, with the optimisers of optax."""
