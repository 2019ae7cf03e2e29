"""The config of a gateway, changed only against what was read."""

import copy
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from prowess.client.calls import Calls
from prowess.client.changes import Config, ConfigWritten
from prowess.client.fields import Json
from prowess.client.refusals import GatewayCallError, is_stale


class ConfigCalls(Calls):
    """The config: read, replace, merge.

    Every method raises `GatewayCallError` where it is refused, and `GatewayLostError` where the
    connection ended before the answer came.
    """

    async def config_get(self) -> Config:
        """Return the config with a marker for each secret, and its hash."""
        return Config.read(await self.request("config.get", {}))

    async def config_set(
        self, values: Mapping[str, Any] | str, *, base_hash: str | None
    ) -> ConfigWritten:
        """Replace the config, if it is still the one of that hash."""
        return ConfigWritten.read(await self.request("config.set", _written(values, base_hash)))

    async def config_patch(
        self,
        changes: Mapping[str, Any] | str,
        *,
        base_hash: str | None,
        replace_paths: Sequence[str] = (),
    ) -> ConfigWritten:
        """Merge changes into the config: null deletes, lists of objects are merged by id."""
        asked = _written(changes, base_hash)
        if replace_paths:
            asked["replacePaths"] = list(replace_paths)
        return ConfigWritten.read(await self.request("config.patch", asked))

    async def config_schema(self) -> Json:
        """Return what can be configured."""
        return await self.request("config.schema", {})

    async def edit_config(self, change: Callable[[Json], Json]) -> ConfigWritten:
        """Read the config, change it, write it; once more, if somebody else wrote in between.

        `change` gets the values and returns those that shall be; it may be called twice, the second
        time with what the other one wrote.
        """
        try:
            return await self._edited(change)
        except GatewayCallError as error:
            if not is_stale(error):
                raise
        return await self._edited(change)

    async def _edited(self, change: Callable[[Json], Json]) -> ConfigWritten:
        config = await self.config_get()
        wanted = change(copy.deepcopy(config.values))
        if wanted == config.values:
            return ConfigWritten(
                values=config.values, hash=config.hash, changed=(), raw={"ok": True, "noop": True}
            )
        return await self.config_set(wanted, base_hash=config.hash if config.exists else None)


def _written(values: Mapping[str, Any] | str, base_hash: str | None) -> Json:
    raw = values if isinstance(values, str) else json.dumps(values, indent=2, ensure_ascii=False)
    return {"raw": raw} if base_hash is None else {"raw": raw, "baseHash": base_hash}
