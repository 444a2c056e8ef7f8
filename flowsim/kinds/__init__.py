"""Whatever one word in a scenario stands for: one file each, registered under that word."""
