"""The JAX engine: smooth fields, large matrices, accelerators."""
