"""Pytest fixtures for users of ragtrace and for its own tests."""
