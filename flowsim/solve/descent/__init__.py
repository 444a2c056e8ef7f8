"""Descent: the gradient's steps of a given size, compiled."""
