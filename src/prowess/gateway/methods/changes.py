"""The methods that change what agents have: installs, entries, removals and the config file."""

from collections.abc import Sequence

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
from prowess.safety.rules.table import Acceptance
from prowess.skills.text import clean
from prowess.wire import runs as wire_runs
from prowess.wire import safety as wire_safety
from prowess.wire import skills as wire_skills

PROGRESS = "skills.install.progress"
_MOST_OUTPUT = 4_000
_NO_REGISTRY = InstallReport(
    ok=False,
    message="This gateway takes skills from no registry and no upload: put the skill's folder into"
    " the workspace's skills, or into the state folder's.",
    skip_reason="no-registry",
)


class ChangeMethods:
    """The answers, over one set of services."""

    def __init__(self, services: Services) -> None:
        self._services = services

    @rpc("skills.install", ClientScope.ADMIN, given.InstallParams, slow=True)
    def install(self, call: RpcCall) -> Json | RpcFailure:
        """Install what it needs: `name` and `installId`. Nothing comes from a registry."""
        asked, skills = call.params, self._services.skills
        agent = skills.agent(asked.agent_id)
        if asked.source is not None:
            return self._answered(_NO_REGISTRY, agent.id)
        _require("skills.install", name=asked.name, installId=asked.install_id)
        with self._services.installs.running(asked.name, asked.install_id, agent.id) as running:
            result = self._installed(call, running)
            running.ended(result)
        return self._answered(result, agent.id)

    def _answered(self, result: InstallReport, agent_id: str) -> Json | RpcFailure:
        shown = {
            **wire_runs.install_result(result),
            "agentId": agent_id,
            "workspaceDir": self._services.skills.workspace(agent_id).folder,
        }
        cause = f"install.{result.skip_reason or 'failed'}"
        return shown if result.ok else RpcFailure(shown, result.message, cause)

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

    @rpc("skills.provide", ClientScope.ADMIN, given.ProvideParams)
    def provide(self, call: RpcCall) -> Json:
        """Give the same variables to several skills."""
        return self._services.config.provide(call.params.skill_keys, call.params.env)

    @rpc("skills.remove", ClientScope.ADMIN, given.RemoveParams)
    def remove(self, call: RpcCall) -> Json:
        """Move it to the trash."""
        asked = call.params
        return self._services.removals.remove(asked.skill_key, asked.source, asked.agent_id)

    @rpc("skills.restore", ClientScope.ADMIN, given.RestoreParams)
    def restore(self, call: RpcCall) -> Json:
        """Bring it back."""
        return self._services.removals.restore(call.params.id, call.params.agent_id)

    @rpc("skills.scan.accept", ClientScope.ADMIN, given.AcceptParams, slow=True)
    def scan_accept(self, call: RpcCall) -> Json:
        """Accept one finding of the scanner, as the operator."""
        asked, skills = call.params, self._services.skills
        skill = skills.find(asked.skill_key, asked.agent_id).skill
        accepted = self._services.accept(skill, asked.rule_id, asked.reason, asked.evidence_hash)
        return self._show_standing(skill.name, asked.agent_id, accepted=accepted)

    @rpc("skills.scan.revoke", ClientScope.ADMIN, given.RevokeParams, slow=True)
    def scan_revoke(self, call: RpcCall) -> Json:
        """Take back what was accepted of a skill."""
        asked, skills = call.params, self._services.skills
        skill = skills.find(asked.skill_key, asked.agent_id).skill
        revoked = self._services.revoke(skill, asked.rule_id, asked.evidence_hash)
        return self._show_standing(skill.name, asked.agent_id, revoked=revoked)

    def _show_standing(
        self, name: str, agent_id: str | None, **changed: Sequence[Acceptance]
    ) -> Json:
        """Show what changed, and how the skill stands now."""
        status = self._services.skills.find(name, agent_id)
        shown = {
            key: [wire_safety.acceptance(one) for one in rows] for key, rows in changed.items()
        }
        return {**shown, "skill": wire_skills.skill_status(status)}

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
        raw = self._services.helpers.without(call.params.raw)
        return self._services.config.set(raw, call.params.base_hash)

    @rpc("config.patch", ClientScope.ADMIN, given.ConfigPatchParams)
    def config_patch(self, call: RpcCall) -> Json:
        """Merge into it."""
        asked = call.params
        raw = self._services.helpers.without(asked.raw)
        return self._services.config.patch(raw, asked.base_hash, asked.replace_paths)

    @rpc("skills.trash", ClientScope.READ)
    def trash(self, call: RpcCall) -> Json:
        """What can come back."""
        del call
        return {"removed": self._services.removals.listed()}


def _require(method: str, **fields: str | None) -> None:
    """Refuse a call that says too little.

    Raises:
        RpcError: a field is missing.
    """
    missing = next((field for field, value in fields.items() if value is None), None)
    if missing is not None:
        message = f"invalid {method} params: {missing}: is required"
        raise RpcError(Code.INVALID_REQUEST, message, {"field": missing})


def change_methods(services: Services) -> tuple[Method, ...]:
    """Return the methods that change skills and config."""
    return collect_methods(ChangeMethods(services))
