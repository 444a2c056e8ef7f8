"""Noisy samples around six centres that are not orthogonal: a ReLU network of which many pairs slide at once."""

CLUSTERS = """
seed = 1

[data]
dimension = 100
positive = 3
negative = 3
centers = "equicorrelated"
cosine = 0.3
radius = 3.0
noise = { per_coordinate = 0.5 }
samples = 60

[model]
activation = "relu"
width = 16
bias = true

[init]
scale = 1e-2

[loss]
kind = "exponential"
"""
