"""Which answers are marked as easy to misread."""

import pytest

from ragtrace.text import suspicions


@pytest.mark.parametrize(
    ("answer", "marks"),
    [
        (None, ()),
        ("  ", ()),
        ("Three euros.", ("short_answer",)),
        ("The gate opens at six in the morning.", ()),
        ("The gate does not open on Sundays at all.", ("negation",)),
        ("It doesn’t open on Sundays, or so they say.", ("negation",)),
        ("The second pump is louder than the first one.", ("comparison",)),
        ("Most of the rooms have a window to the sea.", ()),
        ("Das Tor bleibt am Sonntag ohne Ausnahme geschlossen.", ("negation",)),
        ("Die zweite Pumpe ist lauter als die erste Pumpe.", ("comparison",)),
        ("Ворота по воскресеньям не открываются вовсе.", ("negation",)),
        ("Второй насос работает тише по сравнению с первым.", ("comparison",)),
        ("大门在星期日以及所有的公共节假日全天都没有开放的时间安排。", ("negation",)),
        ("与第一台水泵相比，第二台水泵在夜间运行时的噪声明显要大一些。", ("comparison",)),
        ("日曜日には正門は終日開いていませんのでご注意ください。", ("negation",)),
        ("二台目のポンプは一台目よりも大きな音を立てて動いています。", ("comparison",)),
        ("Set MAX_CONN to 32 in pg_hba.conf, then restart the RDS t3.medium node.", ("jargon",)),
        ("NASA and ESA sent the probe to the second planet in the year before.", ()),
    ],
)
def test_marks_of_an_answer(answer, marks):
    """Short, negative, comparing and technical answers are marked, in five languages; plain ones are not."""
    assert tuple(suspicions(answer)) == marks


def test_a_long_answer_is_looked_at_in_its_beginning_only():
    """A megabyte costs no more than four thousand characters."""
    assert tuple(suspicions("The gate opens at six. " * 50_000 + "It is not open.")) == ()
