"""The parts of the config that say how messages find skills, and which model may help."""

import math

from prowess.host.config.sections import Reader
from prowess.settings import EncoderSettings, ModelSettings, RoutingSettings

_PREFIX = "skills.routing."
_SWITCHED_OFF = {"bundled": "none", "off": "off"}


def routing_settings(reader: Reader) -> RoutingSettings:
    """Read `skills.routing`."""
    return RoutingSettings(
        encoder=EncoderSettings(
            which=_text(reader, _PREFIX + "encoder", "bundled"),
            model=_text(reader, _PREFIX + "encoderModel", ""),
            key_env=_text(reader, _PREFIX + "encoderKeyEnv", ""),
        ),
        max_skills=reader.count(_PREFIX + "maxSkills", 3, least=0),
        load_threshold=_share(reader, _PREFIX + "loadThreshold"),
        offer_threshold=_share(reader, _PREFIX + "offerThreshold"),
        rerank=_text(reader, _PREFIX + "rerank", "off"),
    )


def model_settings(reader: Reader) -> ModelSettings:
    """Read `skills.model`."""
    return ModelSettings(
        endpoint=_text(reader, "skills.model.endpoint", ""),
        name=_text(reader, "skills.model.name", ""),
        key_env=_text(reader, "skills.model.keyEnv", ""),
    )


def _text(reader: Reader, key: str, default: str) -> str:
    value = reader.raw(key)
    if value is None:
        return default
    # People who switch something off write `false` for the word.
    if value is False and default in _SWITCHED_OFF:
        return _SWITCHED_OFF[default]
    if isinstance(value, str) and value.strip():
        return value.strip()
    reader.wrong(key, "a text")
    return default


def _share(reader: Reader, key: str) -> float | None:
    value = reader.raw(key)
    if value is None:
        return None
    if type(value) in {int, float} and math.isfinite(value) and 0 <= value <= 1:
        return float(value)
    reader.wrong(key, "a number between 0 and 1")
    return None
