"""What a Dataset says about the theory: phases."""

from .phases import phases, target_cosine

__all__ = ["phases", "target_cosine"]
