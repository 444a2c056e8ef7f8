"""What people look at: plots, and a page for a browser. Reads Datasets, never runs a solver."""
