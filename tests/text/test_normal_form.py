"""Folding texts for comparison."""

from ragtrace.text import normalise


def test_spellings_of_the_same_words_are_equal():
    """Width, case, punctuation, ligatures and white space do not count; what is written does."""
    assert normalise("  Ｔhe ﬁne\u00a0“PUMP”, 3.5 mm! ") == "the fine pump 3 5 mm"


def test_blanks_beside_chinese_characters_do_not_count():
    """Writers set blanks between Latin and Chinese at will."""
    assert normalise("我们使用 GPT-4o 模型。") == normalise("我们使用GPT-4o模型") == "我们使用gpt 4o模型"


def test_marks_stay_and_surrogates_go():
    """Vowel signs are part of a word; half a pair is not."""
    assert (normalise("कि \ud800"), normalise("…")) == ("कि", "")
