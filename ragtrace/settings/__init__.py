"""What the user configured: arguments over environment over `ragtrace.toml`."""

from ragtrace.settings.fields import Settings
from ragtrace.settings.load import TOML_NAME, load_settings
from ragtrace.settings.tables import AlarmSettings, Price, StratumSettings

__all__ = ["TOML_NAME", "AlarmSettings", "Price", "Settings", "StratumSettings", "load_settings"]
