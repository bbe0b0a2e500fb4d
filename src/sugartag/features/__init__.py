"""Image features: how they are scaled and whitened before they are compared."""
