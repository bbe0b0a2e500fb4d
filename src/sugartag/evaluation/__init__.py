"""How good the tags are: streaming metrics, protocols, cost and sweeps."""
