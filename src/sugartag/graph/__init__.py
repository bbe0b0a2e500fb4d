"""Links between images, users and tags, and the small summaries of them."""
