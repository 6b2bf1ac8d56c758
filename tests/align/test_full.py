"""What the thorough search makes of a prompt."""

import json

import pytest

from ragtrace.align import full, quick
from ragtrace.align.skeleton import letters
from ragtrace.model import Delivery, Passage

TEXT = (
    "The station is covered for 36 months, counted from the invoice date. Batteries are covered for 24 months. "
    "A repair within the warranty is free of charge, and so is the way back to the customer. Damage by lightning "
    "is not covered, and neither is damage by animals, unless the guard was mounted as the manual shows it. "
    "Before you send a device in, ask for a return number in the customer portal; parcels without one are stored "
    "for 30 days and sent back at your expense. The repair itself takes ten working days in Bristol and twenty in "
    "Almaty, because spare parts travel by road. Loan devices are free during a repair under warranty."
)
OTHER = (
    "Every employee has 28 days of leave a year. Up to five of them may be carried over, if that was agreed with "
    "the manager in writing. Days that were not taken by the end of March are lost. Parents can take another ten "
    "days for a sick child and are paid in full, as long as a doctor has signed the form."
)


def _passages(*texts: str) -> list[Passage]:
    return [Passage(text=text, rank=n) for n, text in enumerate(texts)]


def _labels(delivery: Delivery) -> list[str]:
    return [placed.kind or placed.status for placed in delivery.passages]


def _version(text: str) -> str:
    """Another version of a text: every fifth word differs."""
    return " ".join("otherwise" if n % 5 == 4 else word for n, word in enumerate(text.split()))


def test_the_version_that_was_sent_is_named():
    """Of two versions of a text, the one that was sent is full and the other absent, in either order."""
    version = _version(TEXT)

    for sent, labels in ((TEXT, ["full", "absent"]), (version, ["absent", "full"])):
        assert _labels(full(_passages(TEXT, version), [json.dumps(sent)])) == labels


def test_both_versions_are_found_where_both_were_sent():
    """Two versions of a text that were both sent are both full, each at its place."""
    version = _version(TEXT)

    delivery = full(_passages(TEXT, version), [f"[1] {version}\n\n[2] {TEXT}"])

    assert _labels(delivery) == ["full", "full"]
    assert delivery.prompt_order == (1, 0)


def test_a_version_with_one_more_sentence_is_absent():
    """A longer version does not count as received because the shorter one was sent."""
    delivery = full(_passages(OTHER, f"{OTHER} This was decided in May."), [f"Context: {OTHER} Question: why?"])

    assert _labels(delivery) == ["full", "absent"]


def test_neighbours_share_what_they_overlap_by():
    """A dropped chunk received the ends that its neighbours brought."""
    chunks = [TEXT[:300], TEXT[240:520], TEXT[460:]]

    outer = full(_passages(*chunks), [f"{chunks[0]}\n\n{chunks[2]}"])
    inner = full(_passages(*chunks), [chunks[1]])

    assert _labels(outer) == ["full", "fragments", "full"]
    assert _labels(inner) == ["tail", "full", "head"]
    assert inner.passages[0].received_text == TEXT[240:300]


def test_boilerplate_of_every_passage_is_no_receipt():
    """A header that all passages share does not make a dropped passage received."""
    header = "Aldermoor handbook, internal, version of March. Do not pass on to customers or partners.\n"

    delivery = full(_passages(header + TEXT, header + OTHER), [f"{header}{OTHER}"])

    assert _labels(delivery) == ["absent", "full"]


def test_chunks_in_any_order_are_fragments():
    """A passage that was cut into chunks again is received as the chunks that were sent."""
    delivery = full(_passages(TEXT, OTHER), [f"[1] {TEXT[420:610]}\n\n[2] {OTHER}\n\n[3] {TEXT[:180]}"])

    placed = delivery.passages[0]
    assert _labels(delivery) == ["fragments", "full"]
    assert [(s.passage_start, s.passage_end) for s in placed.spans] == [(0, 179), (420, 610)]
    assert placed.spans[0].prompt_start > placed.spans[1].prompt_start


def test_a_shuffled_passage_is_full_in_several_spans():
    """A passage of which all chunks were sent is full; its spans tell where each stands."""
    delivery = full(_passages(TEXT), [f"{TEXT[330:]}\n\n{TEXT[:330]}"])

    assert _labels(delivery) == ["full"]
    assert [(s.passage_start, s.passage_end) for s in delivery.passages[0].spans] == [(0, 330), (330, len(TEXT))]


def test_words_of_the_question_are_no_receipt():
    """A question that shares a phrase with an absent passage does not make it received."""
    delivery = full(_passages(TEXT, OTHER), [f"{OTHER}\n\nWhat if damage by lightning is not covered by the guard?"])

    assert _labels(delivery) == ["absent", "full"]


def test_masks_are_bridged():
    """Words that a filter replaced do not break a passage up; what they hid counts as received."""
    masked = TEXT.replace("customer", "[REDACTED]").replace("Bristol", "█████").replace("lightning", "***")

    assert _labels(full(_passages(TEXT), [masked])) == ["full"]


def test_an_ellipsis_is_not_bridged():
    """What an ellipsis stands for is missing, however short it is."""
    cut = f"{OTHER[:120]} … {OTHER[160:]}"

    placed = full(_passages(OTHER), [cut]).passages[0]

    assert (placed.kind, len(placed.spans)) == ("head", 1) or placed.kind == "fragments"
    assert placed.coverage < 0.95


def test_short_passages_are_found_where_they_stand_alone():
    """A passage of a word is received where it stands as a word."""
    delivery = full(_passages("no", "Bristol", "42"), ["Do you know?\n- Bristol\n- 142"])

    assert _labels(delivery) == ["absent", "full", "absent"]


def test_identical_passages_are_received_together():
    """A passage that was retrieved twice was received twice."""
    assert _labels(full(_passages(OTHER, OTHER), [OTHER[:180]])) == ["head", "head"]


def test_copies_are_counted_where_they_stand_whole():
    """A passage that stands in the prompt twice has two copies, and both are explained."""
    delivery = full(_passages(TEXT), [json.dumps([TEXT, TEXT])])

    assert [placed.copies for placed in delivery.passages] == [2]
    assert delivery.unknown_spans == ()


def test_blank_passages_are_absent():
    """A passage without letters or digits is absent, whatever the prompt."""
    assert _labels(full(_passages("", " \n", "***"), ["*** \n"])) == ["absent"] * 3
    assert full([], []) == Delivery()


def test_parts_of_a_prompt_are_counted_with_the_newline_between_them():
    """Offsets run over the parts joined with a newline."""
    placed = full(_passages(OTHER), ["ab", "", OTHER]).passages[0]

    assert (placed.spans[0].prompt_start, placed.spans[0].prompt_end) == (4, 4 + len(OTHER.rstrip(".")))


def test_a_word_cut_off_the_end_was_not_received():
    """However long the passage, a date that a budget cut off its end is withheld, in the application and later."""
    date = " It counts from 15 April."
    passage = f"{TEXT} {OTHER} {TEXT.upper()} {OTHER.upper()}{date}"

    for place in (full, quick):
        [placed] = place(_passages(passage), [f"[1] {passage.removesuffix(' 15 April.')}\n\nWhy?"]).passages

        assert (placed.status, placed.kind, placed.withheld_text) == ("partial", "head", " 15 April.")


def _numbered(text: str) -> str:
    return "\n".join(f"{n}: {line}" for n, line in enumerate(text.splitlines(), 1))


def _function(n: int) -> str:
    columns = "\n".join(f"    value_{i} = row.column_{i} + {i * 3}" for i in range(6))
    return (
        f"def get_{n}(session):\n    row = session.execute(select(Table{n})).one()\n{columns}\n    return value_{n % 6}"
    )


def test_numbered_lines_of_code_are_found():
    """Functions that differ by a number only are told apart, even with numbers before their lines."""
    functions = [_function(n) for n in range(40)]

    delivery = full(_passages(*functions), ["\n\n".join(map(_numbered, functions[::2]))])

    assert _labels(delivery) == ["full", "absent"] * 20


def test_short_lines_at_the_edges_are_found_behind_their_numbers():
    """The first and last words of a passage are found where a line number stands before them."""
    passage = f"it.\n  So\n{OTHER}\nIs\n  all."

    delivery = full(_passages(passage), [_numbered(f"Question: why?\n{passage}\nAnswer:")])

    assert _labels(delivery) == ["full"]
    assert delivery.passages[0].spans[0].prompt_start == 21


def test_a_masked_word_at_an_edge_was_received():
    """A passage of which the first or last word is masked is full; a word behind the mask that is missing is not."""
    masked = OTHER.replace("Every", "[REDACTED]").replace("form.", "█████.")

    assert _labels(full(_passages(OTHER), [f"[1] {masked}\n\n[2] {TEXT}"])) == ["full"]
    assert _labels(full(_passages(f"{OTHER} Always."), [f"[1] {masked}\n\n[2] {TEXT}"])) == ["head"]


def test_the_next_passage_does_not_lend_its_letters():
    """A last word that was cut off is withheld, even if the text behind the cut has its letters."""
    for behind in ("[2] Holidays are paid.", "2. Holidays are paid.", "[2] Days are paid."):
        [placed] = full(_passages(f"{OTHER} It takes 30 days"), [f"{OTHER} It takes 30\n\n{behind}"]).passages

        assert (placed.kind, placed.withheld_text) == ("head", " days"), behind


def test_one_place_is_not_received_twice():
    """A table that repeats itself is received as far as the prompt has it."""
    rows = "\n".join(" ".join("01"[(n * n + i * n) % 7 % 2] + ".000e+00" for i in range(8)) for n in range(60))

    [placed] = full(_passages(rows), [f"Numbers:\n{rows[: len(rows) // 2]}"]).passages

    assert placed.status == "partial"
    assert placed.coverage < 0.6


def test_tables_of_numbers_are_found():
    """A table without any letter is placed like other text."""
    table = "\n".join(" ".join(str((n * 7919 + i * i * 104729) % 9973) for i in range(8)) for n in range(60))

    cut = full(_passages(table), [_numbered(table[: len(table) // 2])]).passages[0]

    assert (cut.kind, round(cut.coverage, 1)) == ("head", 0.5)


def test_edges_keep_what_markup_hid():
    """A passage that begins with a link is full where the template kept only the link's text."""
    passage = f"[Leave](https://handbook.example/people/leave-of-absence)\nis this: {OTHER}"

    assert _labels(full(_passages(passage), [f"Leave\nis this: {OTHER}"])) == ["full"]


_BEFORE = "总部设在布里斯托尔，客户服务的时间是每天早上九点到晚上八点。设备的保修期是三十六个月，电池只有二十四个月。"
_AFTER = (
    "保修期从发票上的日期算起，客户需要保留发票。在保修期内，维修与寄回都不收费；雷击与动物造成的损坏除外。"
    "寄出设备之前，请先在客户网站上申请一个寄回编号，没有编号的包裹会在仓库里存放三十天。维修一般需要十个工作日。"
)


@pytest.mark.parametrize("name", ["北方星光", "北方星光定位", "北方星光定位仪器二号"])
def test_a_name_that_stands_again_behind_a_cut_is_no_part_of_what_was_cut(name: str):
    """What was cut off and what was sent both hold a name, close to the cut: only what was sent is received."""
    before, after = f"{_BEFORE}请查看{name}，", f"它就是{name}的说明。{_AFTER}"

    for sent, kind in ((after, "tail"), (before, "head")):
        (placed,) = full(_passages(before + after), [f"资料：\n[1] {sent}\n\n[2] 见另一份文件。"]).passages

        assert placed.kind == kind
        assert letters(placed.received_text) == letters(sent)
