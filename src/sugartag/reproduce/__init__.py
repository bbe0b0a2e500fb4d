"""The paper's experiments, each a TOML file, run on named data and told on one page."""
