"""The comparison of all methods: collections, jobs, summaries and the page of results."""
