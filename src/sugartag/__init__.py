"""Clean up the tags of photo-sharing collections."""
