"""What `ragtrace --help` shows."""

import re

from typer.testing import CliRunner

from ragtrace.cli import app


def test_every_command_stands_under_a_heading():
    """Commands come in groups, in the order in which people need them; none stands outside of the groups."""
    shown = CliRunner().invoke(app, ["--help"], env={"COLUMNS": "200", "NO_COLOR": "1"}).output

    groups = re.split(r"╭─ (Options|Start|Score|Trust|Read) ", shown)[1:]
    named = dict(zip(groups[::2], (sorted(re.findall(r"│ (\w+) ", text)) for text in groups[1::2]), strict=True))
    assert list(named) == ["Options", "Start", "Score", "Trust", "Read"]
    assert named["Start"] == ["demo", "doctor", "serve"]
    assert named["Score"] == ["judge", "promote", "references", "score"]
    assert named["Trust"] == ["calibrate", "consistency", "plan", "review"]
    assert named["Read"] == ["alarms", "compare", "report"]
    assert "─ Commands " not in shown
