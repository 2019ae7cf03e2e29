"""Which encoder the settings ask for. An adapter is imported only where it is chosen."""

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING

from prowess.errors import EncoderError
from prowess.host.models.local import MARK, OnnxEncoder, SentenceTransformersEncoder, find_model
from prowess.host.sources.roots import expand_path

if TYPE_CHECKING:
    from prowess.runtime.ports import Encoder
    from prowess.settings import EncoderSettings

BUNDLED = "bundled"
NONE = "none"
# Not the address itself in a message: it may hold a password.
_ENDPOINT = "the endpoint"


def open_encoder(
    settings: "EncoderSettings", environ: Mapping[str, str], home: str, *, bundled: str
) -> "Encoder | None":
    """Return the encoder of the settings, not loaded yet, or None where words alone shall route.

    Args:
        settings: what was chosen.
        environ: where the endpoint's key is looked for.
        home: the user's folder, for `~` and for relative paths.
        bundled: the folder of the bundled model.

    Raises:
        EncoderError: what was chosen cannot be used.
    """
    which = settings.which.strip()
    if which == NONE:
        return None
    if which == BUNDLED:
        return OnnxEncoder(bundled, english_only=True)
    if "://" in which:
        return _endpoint(settings, which, environ)
    return _folder(expand_path(which, home, home))


def _endpoint(settings: "EncoderSettings", address: str, environ: Mapping[str, str]) -> "Encoder":
    if not settings.model:
        problem = "needs the name of a model: set `skills.routing.encoderModel`."
        raise EncoderError(_ENDPOINT, problem)
    key = environ.get(settings.key_env, "").strip() if settings.key_env else ""
    if settings.key_env and not key:
        problem = f"needs a key: set the environment variable {settings.key_env}."
        raise EncoderError(_ENDPOINT, problem)
    from prowess.host.models.encoder_endpoint import EndpointEncoder

    return EndpointEncoder(address, model=settings.model, key=key)


def _folder(folder: str) -> "Encoder":
    if find_model(folder) is not None:
        return OnnxEncoder(folder, english_only=False)
    if os.path.isfile(os.path.join(folder, MARK)):
        return SentenceTransformersEncoder(folder)
    problem = (
        "holds neither model.onnx nor modules.json: set `skills.routing.encoder` to the folder of"
        " a model, to the address of an endpoint, to `bundled` or to `none`."
        if os.path.isdir(folder)
        else "is no folder: check `skills.routing.encoder`."
    )
    raise EncoderError(folder, problem)
