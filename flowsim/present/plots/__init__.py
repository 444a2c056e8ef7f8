"""The kinds of plots, one module for each: `series` prepares arrays from a result, `draw` draws them."""
