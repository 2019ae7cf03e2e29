"""The methods that change what agents have: installs, entries, removals, config and shared skills.

What only reads this machine is for every client; what asks sources is for those who may write, and
what writes for those who may do everything. A yes of such a client counts as the approval.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from urllib.parse import quote, urlencode

from prowess.errors import SharingError
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
from prowess.runtime.sharing.service import Sharing
from prowess.runtime.sharing.update import PreparedUpdate, UpdateRequest, Updating
from prowess.safety.paths import shown
from prowess.safety.rules.table import Acceptance
from prowess.sharing.source import SourceKind, read_source
from prowess.skills.text import clean
from prowess.wire import runs as wire_runs
from prowess.wire import safety as wire_safety
from prowess.wire import sharing as wire_sharing
from prowess.wire import skills as wire_skills

_MOST_FOUND = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class SharingServices:
    """What the methods about shared skills call."""

    # Every folder with a lock that an agent has.
    folders: Callable[[str | None], Sequence[Sharing]]
    # From a skill's name and an agent's id to what the policies say of it.
    explain: Callable[[str, str | None], Json]
    # Whether the log of decisions is whole.
    check_audit: Callable[[], Json]
    # Says that skills have changed.
    told: Callable[[], None]
    agents: Callable[[], Sequence[str]]
    # The address of the hub that is ours; empty without one.
    hub: str
    # Asks it: by method, path below its own protocol, and body.
    ask_hub: Callable[[str, str, Json | None], Json]


class SharingMethods:
    """The answers, over one set of services."""

    def __init__(self, sharing: SharingServices) -> None:
        self._sharing = sharing

    @rpc("sharing.installed", ClientScope.READ, given.AgentParams, slow=True)
    def installed(self, call: RpcCall) -> Json:
        """Every locked skill, how its files stand to the lock, and what the policies say."""
        return {"locks": [_lock(one) for one in self._sharing.folders(call.params.agent_id)]}

    @rpc("sharing.outdated", ClientScope.WRITE, given.AgentParams, slow=True)
    def outdated(self, call: RpcCall) -> Json:
        """Which locked skills have something newer; their sources are asked."""
        found = [
            wire_sharing.outdated_skill(row)
            for one in self._sharing.folders(call.params.agent_id)
            for row in one.find_outdated(_show_nothing)
        ]
        return {"skills": found}

    @rpc("sharing.preview", ClientScope.WRITE, given.SharedSkillParams, slow=True)
    def preview(self, call: RpcCall) -> Json:
        """What an update of one skill would change, with findings, signer and conflicts."""
        _, prepared = self._prepare(call)
        return wire_sharing.prepared_update(prepared, prepared.state)

    @rpc("sharing.update", ClientScope.ADMIN, given.SharedUpdateParams, slow=True)
    def update(self, call: RpcCall) -> Json:
        """Update one skill; what is refused or in conflict stays as it is and says so."""
        updating, prepared = self._prepare(call)
        if prepared.state == "refused":
            updating.decline(prepared)
        if prepared.state != "ready":
            return wire_sharing.prepared_update(prepared, prepared.state)
        shows = wire_sharing.prepared_update(prepared, "updated")
        # Whoever says yes says it to what they saw.
        if call.params.to not in {None, shows["to"]}:
            detail = "has something newer at its source than what was looked at: look at it again."
            raise SharingError(shown(call.params.name), detail)
        updating.apply(prepared)
        self._sharing.told()
        return shows

    @rpc("sharing.policy", ClientScope.READ, given.SharedSkillParams)
    def policy(self, call: RpcCall) -> Json:
        """Which rule of which policy decides about a skill."""
        return self._sharing.explain(call.params.name, call.params.agent_id)

    @rpc("sharing.audit", ClientScope.READ)
    def audit(self, call: RpcCall) -> Json:
        """Whether the log of decisions is whole."""
        del call
        return self._sharing.check_audit()

    @rpc("hub.search", ClientScope.WRITE, given.HubSearchParams, slow=True)
    def search_hub(self, call: RpcCall) -> Json:
        """What our hub finds, or has newly; `hub` is null where there is none."""
        words, hub = call.params.query.strip(), clean(self._sharing.hub)
        if not hub:
            return {"hub": None, "skills": []}
        if not words:
            return {"hub": hub, "skills": self._ask(f"/skills?limit={_MOST_FOUND}")["skills"]}
        query = urlencode({"q": words, "limit": _MOST_FOUND})
        return {"hub": hub, "skills": self._ask(f"/search?{query}")["results"]}

    @rpc("hub.skill", ClientScope.WRITE, given.HubSkillParams, slow=True)
    def hub_skill(self, call: RpcCall) -> Json:
        """A skill of our hub: labels, versions, and which agents of this gateway use which."""
        address = call.params.address
        return {
            "skill": self._ask(_path(address)),
            "versions": self._ask(_path(address, "versions"))["versions"],
            "users": [
                {"agentId": agent, "version": clean(entry.version), "pinned": entry.pinned}
                for agent in self._sharing.agents()
                for one in self._sharing.folders(agent)
                for entry in one.folder.read_lock().skills.values()
                if entry.kind == SourceKind.HUB
                and entry.url.rstrip("/") == self._sharing.hub.rstrip("/")
                and read_source(entry.source).path.lstrip("@") == address
            ],
        }

    @rpc("hub.compare", ClientScope.WRITE, given.HubCompareParams, slow=True)
    def compare(self, call: RpcCall) -> Json:
        """What changes from one version of a skill of our hub to another."""
        asked = call.params
        query = urlencode({"before": asked.before or "", "after": asked.after})
        # As it is: a text that hides something is what a person looks for here.
        return self._sharing.ask_hub("GET", f"{_path(asked.address, 'compare')}?{query}", None)

    @rpc("hub.reviews", ClientScope.WRITE, slow=True)
    def reviews(self, call: RpcCall) -> Json:
        """Which versions of our hub wait for a review that our token may give."""
        del call
        return self._ask("/reviews") if self._sharing.hub else {"pending": []}

    @rpc("hub.review", ClientScope.ADMIN, given.HubReviewParams, slow=True)
    def review(self, call: RpcCall) -> Json:
        """Say yes or no to a version of our hub that waits; it is published with the yes."""
        asked = call.params
        path = _path(asked.address, "versions", asked.version, "review")
        body = {"approve": asked.approve, "reason": asked.reason}
        return self._sharing.ask_hub("POST", path, body)

    @rpc("hub.label", ClientScope.ADMIN, given.HubLabelParams, slow=True)
    def label(self, call: RpcCall) -> Json:
        """Let a label of our hub, such as `stable`, stand for a version."""
        asked = call.params
        path = _path(asked.address, "labels", asked.label)
        self._sharing.ask_hub("PUT", path, {"version": asked.version})
        return {"label": asked.label, "version": asked.version}

    @rpc("hub.yank", ClientScope.ADMIN, given.HubYankParams, slow=True)
    def yank(self, call: RpcCall) -> Json:
        """Let nobody find a version of our hub any more but who asks for exactly this one."""
        asked = call.params
        path = _path(asked.address, "versions", asked.version, "yank")
        self._sharing.ask_hub("POST", path, {"reason": asked.reason})
        return {"version": asked.version, "state": "yanked"}

    def _ask(self, path: str) -> Json:
        answer: Json = wire_sharing.clean_texts(self._sharing.ask_hub("GET", path, None))
        return answer

    def _prepare(self, call: RpcCall) -> tuple[Updating, PreparedUpdate]:
        name = call.params.name
        for one in self._sharing.folders(call.params.agent_id):
            if name in one.folder.read_lock().skills:
                updating = Updating(one)
                asked = UpdateRequest(names=(name,), keep=call.params.keep or "")
                return updating, updating.prepare(asked, _show_nothing)[0]
        raise SharingError(shown(name), "is in no lock.")


def _path(*steps: str) -> str:
    return "/skills/" + "/".join(quote(step) for step in steps)


def _show_nothing(_what: str, _done: int, _total: int) -> None:
    """Show no progress."""


def _lock(sharing: Sharing) -> Json:
    skills = sharing.folder.read_lock().skills
    verified = {one.name: one for one in sharing.verify()}
    return {
        "file": clean(sharing.folder.lock_path),
        "skills": [
            {
                "name": clean(name),
                "source": clean(entry.source),
                "kind": entry.kind,
                "url": clean(entry.url),
                "resolved": clean(entry.resolved),
                "version": clean(entry.version) or None,
                "pinned": entry.pinned,
                "contentDigest": entry.digest,
                "signer": clean(entry.signer) or None,
                "issuer": clean(entry.issuer) or None,
                "verdict": clean(str(entry.scan.get("verdict", ""))) or None,
                "verified": wire_sharing.verified_skill(verified[name]),
                "policy": wire_sharing.policy_decision(sharing.decide(verified[name], entry)),
            }
            for name, entry in skills.items()
        ],
    }


def sharing_methods(sharing: SharingServices) -> tuple[Method, ...]:
    """Return the methods about shared skills."""
    return collect_methods(SharingMethods(sharing))


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
            return self._answer(_NO_REGISTRY, agent.id)
        _require("skills.install", name=asked.name, installId=asked.install_id)
        with self._services.installs.running(asked.name, asked.install_id, agent.id) as running:
            result = self._install_noting(call, running)
            running.ended(result)
        return self._answer(result, agent.id)

    def _answer(self, result: InstallReport, agent_id: str) -> Json | RpcFailure:
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

    def _install_noting(self, call: RpcCall, running: Running) -> InstallReport:
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
