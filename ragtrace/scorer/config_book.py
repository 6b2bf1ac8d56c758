"""Find the score config that a score is written with, or do without one."""

import logging
from collections.abc import Iterable, Mapping

from ragtrace.errors import BackendError
from ragtrace.langfuse import LangfuseApi
from ragtrace.langfuse.configs import ScoreConfig
from ragtrace.model import Score
from ragtrace.scorer.shapes import shapes_of

_logger = logging.getLogger(__name__)


class ConfigBook:
    """Knows the configs of a project; a score that does not fit its config is written without, and told once."""

    def __init__(self, configs: Mapping[str, ScoreConfig] | None = None) -> None:
        self._configs = configs or {}
        self._told: set[str] = set()

    def id_for(self, score: Score) -> str | None:
        """Return the id of the config to write a score with."""
        config = self._configs.get(score.name)
        if config is None:
            return None
        objection = config.objection(score.value, score.data_type)
        if objection is None:
            return config.id
        if score.name not in self._told:
            self._told.add(score.name)
            _logger.warning(
                "score config %r does not fit (%s): such scores are written without it; mend it in Langfuse",
                score.name,
                objection,
            )
        return None


async def open_config_book(api: LangfuseApi, metric_names: Iterable[str]) -> ConfigBook:
    """Return the configs of these metrics, created where there are none.

    Scores need no config, so where configs cannot be read or created there are none, with a warning.
    """
    try:
        return ConfigBook(await api.ensure_configs(shapes_of(metric_names)))
    except BackendError as exc:
        _logger.warning("scores are written without score configs: %s", exc)
        return ConfigBook()
