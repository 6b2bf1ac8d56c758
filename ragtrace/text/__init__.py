"""Sentences, languages and normal forms of text in any script."""

from ragtrace.text.kinds import declines
from ragtrace.text.languages import detect_language
from ragtrace.text.normal_form import normalise
from ragtrace.text.sentences import split_sentences
from ragtrace.text.suspicion import suspicions

__all__ = ["declines", "detect_language", "normalise", "split_sentences", "suspicions"]
