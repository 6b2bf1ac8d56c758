"""The embedded judge with a threshold that people's labels placed."""

import asyncio
import math
from dataclasses import replace
from pathlib import Path

import pytest

from ragtrace.errors import ConfigError
from ragtrace.judge import make_judge
from ragtrace.judge.embedded import EmbeddedJudge
from ragtrace.judge.embedded_calibration import Calibration, load_calibration, save_calibration
from ragtrace.settings import load_settings
from tests.build import call, received

SHIPPED = EmbeddedJudge()
CALIBRATION = Calibration(
    judge="lexical-v1", weights=SHIPPED.fingerprint, log_odds=5.5, labels=40, balanced_accuracy=0.8, before=0.7
)


def test_a_calibration_survives_its_file(tmp_path):
    """What `ragtrace calibrate` writes is what the judge reads."""
    save_calibration(CALIBRATION, tmp_path / "calibration.json")

    assert load_calibration(tmp_path / "calibration.json") == CALIBRATION


def test_the_settings_name_a_calibration(tmp_path):
    """A judge made from settings takes the threshold over, and says that it is calibrated."""
    save_calibration(CALIBRATION, tmp_path / "calibration.json")
    judge = make_judge(load_settings({}, overrides={"judge_calibration": tmp_path / "calibration.json"}))

    found = asyncio.run(judge.judge(call(answer="The lid is blue.", delivery=received("The lid is blue."))))

    assert (judge.is_calibrated, judge.fingerprint != SHIPPED.fingerprint) == (True, True)
    assert [claim.verdict for claim in found.answer[0].claims] == ["unsupported"]


def test_a_claim_at_the_threshold_is_undecided():
    """Between supported and unsupported lies a band in which wording does not tell."""
    one = call(
        answer="The lid opens upwards to keep out dust.", delivery=received("The lid opens upwards. It is blue.")
    )
    support = asyncio.run(SHIPPED.judge(one)).answer[0].claims[0].support or 0.0
    judge = EmbeddedJudge(replace(CALIBRATION, log_odds=math.log(support / (1 - support))))

    claim = asyncio.run(judge.judge(one)).answer[0].claims[0]

    assert (claim.verdict, claim.reason, claim.support) == ("undecided", "wording does not tell", pytest.approx(0.5))


def test_another_judges_calibration_is_refused():
    """A threshold of other weights says nothing, so the judge does not start with it."""
    with pytest.raises(ConfigError) as caught:
        EmbeddedJudge(replace(CALIBRATION, weights="old"))

    assert str(caught.value) == (
        f"the calibration is for judge 'lexical-v1' with weights 'old', not for 'lexical-v1' with "
        f"{SHIPPED.fingerprint!r}: run `ragtrace calibrate` again"
    )


@pytest.mark.parametrize("content", ["{", "[]", '{"judge": "lexical-v1"}'])
def test_another_file_is_no_calibration(tmp_path, content):
    """A file that is something else is named, with the way to make a right one."""
    path = tmp_path / "calibration.json"
    path.write_text(content, encoding="utf-8")

    with pytest.raises(ConfigError, match=r"calibration\.json: not a calibration .*`ragtrace calibrate` makes one"):
        load_calibration(path)


def test_a_missing_calibration_is_named():
    """The error says which file is not there."""
    with pytest.raises(ConfigError) as caught:
        load_calibration(Path("nowhere.json"))

    assert str(caught.value) == "nowhere.json: there is no such file; `ragtrace calibrate` makes one"


def test_a_calibration_needs_a_place(tmp_path):
    """A folder cannot be written like a file."""
    with pytest.raises(ConfigError, match="cannot be written"):
        save_calibration(CALIBRATION, tmp_path)
