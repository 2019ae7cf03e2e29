"""Settings that stay as they were while their file is broken.

A command ends when the config cannot be read; a process that serves others goes on. Only the first
reading may fail: there is nothing before it that could stay in force.
"""

import logging

from prowess.errors import ConfigError
from prowess.runtime.ports import SettingsSource
from prowess.settings import Settings

log = logging.getLogger(__name__)


class LastGoodSettings:
    """Settings as they were last understood."""

    def __init__(self, settings: SettingsSource) -> None:
        self._settings = settings
        self._last: Settings | None = None
        # What was said about the file as it is: it is said once.
        self._said = ""

    def read(self) -> Settings:
        """Return the settings, or those from before where they cannot be read now.

        Raises:
            ConfigError: they could never be read.
        """
        try:
            self._last = self._settings.read()
        except ConfigError as error:
            if self._last is None:
                raise
            if self._said != str(error):
                log.warning("config.unreadable: %s The last one stays in force.", error)
            self._said = str(error)
            return self._last
        self._said = ""
        return self._last
