"""Image features: how they are scaled before they are compared."""
