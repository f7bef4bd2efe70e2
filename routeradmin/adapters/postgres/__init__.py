"""Django's PostgreSQL backend, but for a server that says nothing any more (``base``)."""
