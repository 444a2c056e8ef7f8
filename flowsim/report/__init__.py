"""What people look at: plots of a result. Reads Datasets, never runs a solver; Matplotlib is imported when it draws."""
