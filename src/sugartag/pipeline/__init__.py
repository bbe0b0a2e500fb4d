"""From a method and a collection to a model, and from a model to proposed changes."""
