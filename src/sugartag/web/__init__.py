"""The review page: pictures with their proposed tags, decisions, search, and a JSON API."""
