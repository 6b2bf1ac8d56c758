"""Sampling by hash of the trace id."""

import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragtrace.sampling import is_sampled, position


def _uuid7_like(number: int) -> str:
    prefix = (0x0197A3C45F3B + number // 4).to_bytes(6).hex()
    return prefix + "7" + uuid.uuid4().hex[13:]


@pytest.mark.parametrize("make_id", [lambda n: uuid.uuid4().hex, _uuid7_like, lambda n: f"{n:032x}"])
def test_a_quarter_is_a_quarter_whatever_the_ids_look_like(make_id):
    """Random, time-ordered and counted ids are all sampled at the rate that was asked for."""
    ids = [make_id(number) for number in range(4000)]

    assert 900 <= sum(is_sampled(trace_id, 0.25) for trace_id in ids) <= 1100


def test_a_smaller_sample_lies_inside_a_larger_one():
    """What is chosen at 0.10 is chosen at 0.25, too."""
    ids = [uuid.uuid4().hex for _ in range(4000)]
    small, large = ({i for i in ids if is_sampled(i, rate)} for rate in (0.10, 0.25))

    assert small <= large


@given(st.text())
def test_rate_one_keeps_all_and_rate_zero_none(trace_id):
    """The ends of the range are exact, for any id."""
    assert (is_sampled(trace_id, 1.0), is_sampled(trace_id, 0.0)) == (True, False)


@given(st.text(), st.text())
def test_a_position_is_in_the_unit_interval(trace_id, salt):
    """Every id has a place from 0 up to, but not including, 1."""
    assert 0 <= position(trace_id, salt) < 1


def test_positions_never_change():
    """The same id has the same place in every process and version, or samples would not be nested across restarts."""
    assert (position("5966eb44e0c6474495113dc30e9a8df5"), position("5966eb44e0c6474495113dc30e9a8df5", "other")) == (
        0.31220705444895425,
        0.5862516639384033,
    )


def test_another_salt_is_another_sample():
    """Two salts choose independently."""
    ids = [uuid.uuid4().hex for _ in range(2000)]
    both = sum(is_sampled(i, 0.5, salt="a") and is_sampled(i, 0.5, salt="b") for i in ids)

    assert 400 <= both <= 600
