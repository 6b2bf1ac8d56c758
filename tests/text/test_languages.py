"""Telling languages apart."""

import pytest

from ragtrace.text import detect_language


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("The warranty lasts for two years.", "en"),
        ("Die Garantie beträgt zwei Jahre.", "de"),
        ("La garantie est de deux ans pour tous les produits.", "fr"),
        ("La garantía es de dos años para todos los productos.", "es"),
        ("Garanti süresi iki yıl olarak belirlenmiştir ve bu süre için geçerli.", "tr"),
        ("Гарантия составляет два года.", "ru"),
        ("Гарантія діє два роки від дня її початку.", "uk"),
        ("保修期为两年。", "zh"),
        ("保証期間は二年です。", "ja"),
        ("보증 기간은 2년입니다.", "ko"),
        ("مدة الضمان سنتان.", "ar"),
        ("مدت ضمانت دو سال می‌باشد و پس از آن پایان می‌گیرد.", "fa"),
        ("רישיון לשנתיים", "he"),
        ("ระยะเวลารับประกันสองปี", "th"),
        ("वारंटी दो साल की है।", "hi"),
        ("Smith's pump", "und"),
        ("Bosch GHM 30 Nm", "und"),
        ("in", "und"),
        ("12 345 — 7", "und"),
        ("«» 12", "und"),
        ("", "und"),
    ],
)
def test_the_language_of_a_text_is_told_or_left_open(text, language):
    """Script, letters and common words tell the language; names and numbers do not."""
    assert detect_language(text) == language
