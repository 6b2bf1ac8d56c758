"""The arithmetic of the embedded judge: how well wording supports wording."""
