"""Passages that reached the generator in other words."""

from ragtrace.align import align
from ragtrace.model import Delivery, Passage

HERON = (
    "The Heron 4 station measures wind, rain and temperature once a second. Its battery lasts 14 months at minus 20 "
    "degrees. The warranty covers 36 months for sensors and 24 months for batteries, counted from the invoice date. "
    "Calibration costs 180 pounds and takes ten working days in the Bristol laboratory."
)
LEAVE = (
    "Employees get 28 days of leave each year. Unused days can be carried over until the end of March. Parental "
    "leave must be announced three months ahead to the personnel office in Leeds, and it is paid for 26 weeks."
)
GERMAN = (
    "Die Heron 4 misst jede Sekunde Wind, Regen und Temperatur. Die Batterie hält bei minus 20 Grad 14 Monate. Die "
    "Garantie beträgt 36 Monate für Sensoren und 24 Monate für Akkus ab Rechnungsdatum. Die Kalibrierung kostet 180 "
    "Pfund und dauert zehn Arbeitstage im Labor in Bristol."
)
CHINESE = (
    "苍鹭四型气象站每秒测量一次风、雨和温度。在零下二十度时电池可用十四个月。传感器保修三十六个月，电池二十四个月，从发票日期算起。"
    "校准费用为一百八十英镑，在布里斯托尔的实验室需要十个工作日。这些规定适用于所有客户，请仔细阅读说明书。"
)
SYSTEM = (
    "You are a helpful assistant. Answer the question with the context below, and say so if it does not hold the "
    "answer. Be brief, be polite, never invent anything, and cite the number of the passage that you used."
)


def _statuses(delivery: Delivery) -> list[str]:
    return [placed.status for placed in delivery.passages]


def _placed(told: str, *texts: str) -> list[str]:
    passages = [Passage(text=text, rank=n) for n, text in enumerate(texts)]
    return _statuses(align(passages, [SYSTEM, f"Context:\n{told}\n\n{LEAVE}\n\nQuestion: How long is it covered?"]))


def test_translations_are_transformed():
    """A passage that was translated before it was sent is transformed, not absent."""
    assert _placed(GERMAN, HERON, LEAVE) == ["transformed", "full"]


def test_the_one_missing_passage_is_the_one_in_another_script():
    """With few passages, a large text in another script is the translation of the one that is missing."""
    assert _placed(CHINESE, HERON, LEAVE) == ["transformed", "full"]
    assert _placed(CHINESE, HERON, LEAVE, HERON[::-1]) == ["absent", "full", "absent"]


def test_kept_clauses_do_not_hide_a_retelling():
    """A summary or translation that kept clauses word by word is transformed: what it tells has no other origin."""
    summary = (
        "The Heron 4 is a weather station which measures temperature, rain and wind every second. The warranty covers "
        "36 months for sensors and 24 months for batteries, starting at the date of the invoice; for calibration the "
        "customer pays 180 pounds to the laboratory in Bristol, within ten days of work, and one battery is enough for "
        "14 months at minus twenty degrees."
    )
    translation = GERMAN.replace(
        "Die Garantie beträgt 36 Monate für Sensoren und 24 Monate für Akkus",
        '"The warranty covers 36 months for sensors and 24 months for batteries"',
    )

    assert _placed(summary, HERON, LEAVE) == ["transformed", "full"]
    assert _placed(translation, HERON, LEAVE) == ["transformed", "full"]


def test_an_extract_beside_other_text_is_partial():
    """A sentence of a passage stays received, whatever stands on the lines around it."""
    extract = "The warranty covers 36 months for sensors and 24 months for batteries, counted from the invoice date."
    foreign = "The archive in Gera closed in 1998 and its 412 boxes were moved to Weimar, where they can be read."

    assert _placed(extract, HERON, LEAVE) == ["partial", "full"]
    assert _placed(f"{extract}\n{foreign}", HERON, LEAVE) == ["partial", "full"]
    assert _placed(f"{extract} {foreign}", HERON, LEAVE) == ["partial", "full"]


def test_what_a_summary_kept_word_by_word_is_no_receipt():
    """A few words of a passage inside another text do not make it received."""
    told = "In short: it says that the warranty covers 36 months for some parts, and who knows what for the others."

    assert _placed(told, HERON, LEAVE) == ["absent", "full"]


def test_years_in_common_are_no_translation():
    """A foreign text with two years and a few small numbers of a dropped passage is not its translation."""
    foreign = (
        "Архив закрылся в 2007 году, а в 2012 году двенадцать ящиков, 24 папки и 36 карт были перевезены в Москву. "
    )
    dropped = LEAVE.replace("28 days", "24 days, since 2007, and since 2012 for 36 hours a week,")

    assert _placed(foreign * 2, HERON, LEAVE, dropped, HERON[::-1]) == ["absent", "full", "absent", "absent"]


def test_instructions_and_other_texts_are_no_summary():
    """Long instructions, or a text about something else, leave a dropped passage absent."""
    foreign = "The archive in Gera closed in 1998 and its 412 boxes were moved to Weimar, where they can be read. " * 3

    assert _placed("", HERON, LEAVE) == ["absent", "full"]
    assert _placed(foreign, HERON, LEAVE) == ["absent", "full"]


def test_only_so_much_unexplained_text_is_looked_at():
    """A prompt full of unexplained text does not make looking for summaries slow."""
    noise = "\n".join(
        f"entry {n} of a very long log of the application, which says nothing at all" for n in range(6000)
    )

    assert _placed(noise, HERON, LEAVE) == ["absent", "full"]
