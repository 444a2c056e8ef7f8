"""The Numba engine: no compile time, ensembles on all cores, and ReLU flows that follow Clarke's subdifferential."""
