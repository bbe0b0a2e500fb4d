"""Pure numerics: mode products, distances, nearest rows; no files, no collections."""
