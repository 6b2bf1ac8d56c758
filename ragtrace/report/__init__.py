"""Tell people what the scores say: in a terminal, as one HTML page, as JSON."""
