"""The performance claims, measured: each method in a process of its own, results as JSON."""
