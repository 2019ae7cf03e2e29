"""The methods that change what agents have: installs, entries, removals and the config file."""

from collections.abc import Callable
from typing import TypeAlias

from prowess.gateway.calls import (
    Call,
    Code,
    Failure,
    Json,
    Method,
    NoParams,
    Params,
    RpcError,
    Scope,
)
from prowess.gateway.methods import params as given
from prowess.gateway.methods.services import Running, Services
from prowess.runtime.install import InstallReport, InstallRequest
from prowess.skills.text import clean
from prowess.wire import runs as wire_runs

PROGRESS = "skills.install.progress"
_MOST_OUTPUT = 4_000
Answer: TypeAlias = Callable[[Call], Json | Failure]


def change_methods(services: Services) -> tuple[Method, ...]:
    """Return the methods that change skills and config."""
    changes, config, admin = _Changes(services), services.config, Scope.ADMIN

    def method(name: str, scope: Scope, params: type[Params], answer: Answer, about: str) -> Method:
        slow = name == "skills.install"
        return Method(name=name, scope=scope, params=params, answer=answer, slow=slow, about=about)

    return (
        method("skills.install", admin, given.Install, changes.install, "Install what it needs."),
        method("skills.installs", admin, NoParams, changes.installs, "Installs that run or ran."),
        method("skills.update", admin, given.Update, changes.update, "Switch it, keep its key."),
        method("skills.remove", admin, given.Remove, changes.remove, "Move it to the trash."),
        method("skills.restore", admin, given.Restore, changes.restore, "Bring it back."),
        method("skills.trash", Scope.READ, NoParams, changes.trash, "What can come back."),
        method("config.get", Scope.READ, NoParams, lambda _: config.get(), "The config, masked."),
        method("config.schema", Scope.READ, NoParams, lambda _: config.schema(), "Its keys."),
        method("config.set", admin, given.ConfigSet, changes.config_set, "Replace the config."),
        method("config.patch", admin, given.ConfigPatch, changes.config_patch, "Merge into it."),
    )


class _Changes:
    """The answers, over one set of services."""

    def __init__(self, services: Services) -> None:
        self._services = services

    def install(self, call: Call) -> Json | Failure:
        """Install what a skill needs, telling this client how it goes."""
        asked, skills = call.params, self._services.skills
        agent = skills.agent(asked.agent_id)
        with self._services.installs.running(asked.name, asked.install_id, agent.id) as running:
            result = self._installed(call, running)
            running.ended(result)
        shown = {
            **wire_runs.install_result(result),
            "agentId": agent.id,
            "workspaceDir": skills.workspace(agent.id).folder,
        }
        return shown if result.ok else Failure(shown, result.message)

    def installs(self, call: Call) -> Json:
        """Show the installs of every client: what runs, and what ended a moment ago."""
        del call
        return {"installs": self._services.installs.listed()}

    def _installed(self, call: Call, running: Running) -> InstallReport:
        asked = call.params
        about = {"skill": clean(asked.name), "installId": asked.install_id}

        def output(stream: str, text: str) -> None:
            running.wrote(text)
            call.notify(PROGRESS, {**about, "stream": stream, "text": clean(text[-_MOST_OUTPUT:])})

        def progress(done: int, whole: int | None) -> None:
            running.received(done, whole)
            call.notify(PROGRESS, {**about, "received": done, "total": whole})

        return self._services.installing().install(
            InstallRequest(
                skill=asked.name,
                option_id=asked.install_id,
                timeout_ms=asked.timeout_ms,
                agent_id=asked.agent_id,
            ),
            output,
            progress,
            self._services.stopping,
        )

    def update(self, call: Call) -> Json:
        """Change a skill's entry in the config."""
        asked = call.params
        if asked.enabled is None and asked.api_key is None and asked.env is None:
            message = "invalid skills.update params: give enabled, apiKey or env"
            raise RpcError(Code.INVALID_REQUEST, message, {"field": "enabled"})
        return self._services.config.update_entry(
            asked.skill_key, asked.enabled, asked.api_key, asked.env
        )

    def remove(self, call: Call) -> Json:
        """Move a skill to the trash; the server knows where it lies."""
        asked = call.params
        return self._services.removals.remove(asked.skill_key, asked.source, asked.agent_id)

    def restore(self, call: Call) -> Json:
        """Bring a removed skill back."""
        return self._services.removals.restore(call.params.id, call.params.agent_id)

    def config_set(self, call: Call) -> Json:
        """Replace the config, if it is still the one that was read."""
        return self._services.config.set(call.params.raw, call.params.base_hash)

    def config_patch(self, call: Call) -> Json:
        """Merge a change into the config, if it is still the one that was read."""
        asked = call.params
        return self._services.config.patch(asked.raw, asked.base_hash, asked.replace_paths)

    def trash(self, call: Call) -> Json:
        """Return the removed skills that can come back."""
        del call
        return {"removed": self._services.removals.listed()}
