"""Results to look at: reads Datasets, never runs a solver."""
