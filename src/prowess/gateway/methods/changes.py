"""The methods that change what agents have: installs, entries, removals and the config file."""

from prowess.gateway.calls import (
    ClientScope,
    Code,
    Json,
    Method,
    RpcCall,
    RpcError,
    RpcFailure,
    collect_methods,
    rpc,
)
from prowess.gateway.methods import params as given
from prowess.gateway.methods.services import Running, Services
from prowess.runtime.install import InstallReport, InstallRequest
from prowess.skills.text import clean
from prowess.wire import runs as wire_runs

PROGRESS = "skills.install.progress"
_MOST_OUTPUT = 4_000


class ChangeMethods:
    """The answers, over one set of services."""

    def __init__(self, services: Services) -> None:
        self._services = services

    @rpc("skills.install", ClientScope.ADMIN, given.InstallParams, slow=True)
    def install(self, call: RpcCall) -> Json | RpcFailure:
        """Install what it needs."""
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
        return shown if result.ok else RpcFailure(shown, result.message)

    @rpc("skills.installs", ClientScope.ADMIN)
    def installs(self, call: RpcCall) -> Json:
        """Installs that run or ran."""
        del call
        return {"installs": self._services.installs.listed()}

    def _installed(self, call: RpcCall, running: Running) -> InstallReport:
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

    @rpc("skills.update", ClientScope.ADMIN, given.UpdateParams)
    def update(self, call: RpcCall) -> Json:
        """Switch it, keep its key."""
        asked = call.params
        if asked.enabled is None and asked.api_key is None and asked.env is None:
            message = "invalid skills.update params: give enabled, apiKey or env"
            raise RpcError(Code.INVALID_REQUEST, message, {"field": "enabled"})
        return self._services.config.update_entry(
            asked.skill_key, asked.enabled, asked.api_key, asked.env
        )

    @rpc("skills.remove", ClientScope.ADMIN, given.RemoveParams)
    def remove(self, call: RpcCall) -> Json:
        """Move it to the trash."""
        asked = call.params
        return self._services.removals.remove(asked.skill_key, asked.source, asked.agent_id)

    @rpc("skills.restore", ClientScope.ADMIN, given.RestoreParams)
    def restore(self, call: RpcCall) -> Json:
        """Bring it back."""
        return self._services.removals.restore(call.params.id, call.params.agent_id)

    @rpc("config.get", ClientScope.READ)
    def config_get(self, call: RpcCall) -> Json:
        """The config, masked."""
        del call
        return self._services.config.get()

    @rpc("config.schema", ClientScope.READ)
    def config_schema(self, call: RpcCall) -> Json:
        """Its keys."""
        del call
        return self._services.config.schema()

    @rpc("config.set", ClientScope.ADMIN, given.ConfigSetParams)
    def config_set(self, call: RpcCall) -> Json:
        """Replace the config."""
        return self._services.config.set(call.params.raw, call.params.base_hash)

    @rpc("config.patch", ClientScope.ADMIN, given.ConfigPatchParams)
    def config_patch(self, call: RpcCall) -> Json:
        """Merge into it."""
        asked = call.params
        return self._services.config.patch(asked.raw, asked.base_hash, asked.replace_paths)

    @rpc("skills.trash", ClientScope.READ)
    def trash(self, call: RpcCall) -> Json:
        """What can come back."""
        del call
        return {"removed": self._services.removals.listed()}


def change_methods(services: Services) -> tuple[Method, ...]:
    """Return the methods that change skills and config."""
    return collect_methods(ChangeMethods(services))
