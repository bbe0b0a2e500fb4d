"""The paper's experiments, each a TOML file, run on named data and reported on one page."""
