"""The methods that change what agents have: installs, entries, removals, config and shared skills.

What only reads this machine is for every client; what asks sources is for those who may write, and
what writes for those who may do everything. A yes of such a client counts as the approval.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated
from urllib.parse import quote, urlencode

from pydantic import Field

from prowess.errors import SharingError
from prowess.gateway.calls import ClientScope, Code, Json, RpcCall, RpcError, RpcFailure, rpc
from prowess.gateway.methods import params as given
from prowess.gateway.methods.params import (
    Agent,
    HubAddress,
    HubVersion,
    Name,
    Secret,
    Text,
    Variables,
)
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
from prowess.wire.skills import pick

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

    @rpc("sharing.installed", ClientScope.READ, slow=True)
    def installed(self, agent_id: Agent = None) -> Json:
        """Every locked skill, how its files stand to the lock, and what the policies say."""
        return {"locks": [_lock(one) for one in self._sharing.folders(agent_id)]}

    @rpc("sharing.outdated", ClientScope.WRITE, slow=True)
    def outdated(self, agent_id: Agent = None) -> Json:
        """Which locked skills have something newer; their sources are asked."""
        found = [
            wire_sharing.outdated_skill(row)
            for one in self._sharing.folders(agent_id)
            for row in one.find_outdated(_show_nothing)
        ]
        return {"skills": found}

    @rpc("sharing.preview", ClientScope.WRITE, slow=True)
    def preview(self, asked: given.SharedSkillParams) -> Json:
        """What an update of one skill would change, with findings, signer and conflicts."""
        _, prepared = self._prepare(asked)
        return wire_sharing.prepared_update(prepared, prepared.state)

    @rpc("sharing.update", ClientScope.ADMIN, slow=True)
    def update(self, asked: given.SharedUpdateParams) -> Json:
        """Update one skill; what is refused or in conflict stays as it is and says so."""
        updating, prepared = self._prepare(asked)
        if prepared.state == "refused":
            updating.decline(prepared)
        if prepared.state != "ready":
            return wire_sharing.prepared_update(prepared, prepared.state)
        shows = wire_sharing.prepared_update(prepared, "updated")
        # Whoever says yes says it to what they saw.
        if asked.to not in {None, shows["to"]}:
            detail = "has something newer at its source than what was looked at: look at it again."
            raise SharingError(shown(asked.name), detail)
        updating.apply(prepared)
        self._sharing.told()
        return shows

    @rpc("sharing.policy", ClientScope.READ)
    def policy(self, asked: given.SharedSkillParams) -> Json:
        """Which rule of which policy decides about a skill."""
        return self._sharing.explain(asked.name, asked.agent_id)

    @rpc("sharing.audit", ClientScope.READ)
    def audit(self) -> Json:
        """Whether the log of decisions is whole."""
        return self._sharing.check_audit()

    @rpc("hub.search", ClientScope.WRITE, slow=True)
    def search_hub(self, query: Annotated[str, Field(max_length=2_000)] = "") -> Json:
        """What our hub finds, or has newly; `hub` is null where there is none."""
        words, hub = query.strip(), clean(self._sharing.hub)
        if not hub:
            return {"hub": None, "skills": []}
        if not words:
            return {"hub": hub, "skills": self._ask(f"/skills?limit={_MOST_FOUND}")["skills"]}
        query = urlencode({"q": words, "limit": _MOST_FOUND})
        return {"hub": hub, "skills": self._ask(f"/search?{query}")["results"]}

    @rpc("hub.skill", ClientScope.WRITE, slow=True)
    def hub_skill(self, address: HubAddress) -> Json:
        """A skill of our hub: labels, versions, and which agents of this gateway use which."""
        return {
            "skill": self._ask(_path(address)),
            "versions": self._ask(_path(address, "versions"))["versions"],
            "users": [
                {"agentId": agent, **pick(entry, "version pinned")}
                for agent in self._sharing.agents()
                for one in self._sharing.folders(agent)
                for entry in one.folder.read_lock().skills.values()
                if entry.kind == SourceKind.HUB
                and entry.url.rstrip("/") == self._sharing.hub.rstrip("/")
                and read_source(entry.source).path.lstrip("@") == address
            ],
        }

    @rpc("hub.compare", ClientScope.WRITE, slow=True)
    def compare(
        self, after: HubVersion, address: HubAddress, before: HubVersion | None = None
    ) -> Json:
        """What changes from one version of a skill of our hub to another."""
        query = urlencode({"before": before or "", "after": after})
        # As it is: a text that hides something is what a person looks for here.
        return self._sharing.ask_hub("GET", f"{_path(address, 'compare')}?{query}", None)

    @rpc("hub.reviews", ClientScope.WRITE, slow=True)
    def reviews(self) -> Json:
        """Which versions of our hub wait for a review that our token may give."""
        return self._ask("/reviews") if self._sharing.hub else {"pending": []}

    @rpc("hub.review", ClientScope.ADMIN, slow=True)
    def review(
        self,
        version: HubVersion,
        address: HubAddress,
        *,
        approve: bool,
        reason: Annotated[str, Field(max_length=500)] = "",
    ) -> Json:
        """Say yes or no to a version of our hub that waits; it is published with the yes."""
        path = _path(address, "versions", version, "review")
        body = {"approve": approve, "reason": reason}
        return self._sharing.ask_hub("POST", path, body)

    @rpc("hub.label", ClientScope.ADMIN, slow=True)
    def label(self, label: HubVersion, version: HubVersion, address: HubAddress) -> Json:
        """Let a label of our hub, such as `stable`, stand for a version."""
        path = _path(address, "labels", label)
        self._sharing.ask_hub("PUT", path, {"version": version})
        return {"label": label, "version": version}

    @rpc("hub.yank", ClientScope.ADMIN, slow=True)
    def yank(
        self,
        version: HubVersion,
        reason: Annotated[str, Field(min_length=1, max_length=500)],
        address: HubAddress,
    ) -> Json:
        """Let nobody find a version of our hub any more but who asks for exactly this one."""
        path = _path(address, "versions", version, "yank")
        self._sharing.ask_hub("POST", path, {"reason": reason})
        return {"version": version, "state": "yanked"}

    def _ask(self, path: str) -> Json:
        answer: Json = wire_sharing.clean_texts(self._sharing.ask_hub("GET", path, None))
        return answer

    def _prepare(self, asked: given.SharedSkillParams) -> tuple[Updating, PreparedUpdate]:
        for one in self._sharing.folders(asked.agent_id):
            if asked.name in one.folder.read_lock().skills:
                updating = Updating(one)
                request = UpdateRequest(names=(asked.name,), keep=asked.keep or "")
                return updating, updating.prepare(request, _show_nothing)[0]
        raise SharingError(shown(asked.name), "is in no lock.")


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
                **pick(
                    entry,
                    "source kind url resolved version? pinned digest=contentDigest signer? issuer?",
                ),
                "verdict": clean(str(entry.scan.get("verdict", ""))) or None,
                "verified": wire_sharing.verified_skill(verified[name]),
                "policy": wire_sharing.policy_decision(sharing.decide(verified[name], entry)),
            }
            for name, entry in skills.items()
        ],
    }


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

    @rpc("skills.install", ClientScope.ADMIN, slow=True)
    def install(self, call: RpcCall, asked: given.InstallParams) -> Json | RpcFailure:
        """Install what it needs: `name` and `installId`. Nothing comes from a registry."""
        skills = self._services.skills
        agent = skills.agent(asked.agent_id)
        if asked.source is not None:
            return self._answer(_NO_REGISTRY, agent.id)
        named = _require("skills.install", name=asked.name, installId=asked.install_id)
        name, option = named
        request = InstallRequest(
            skill=name, option_id=option, timeout_ms=asked.timeout_ms, agent_id=asked.agent_id
        )
        with self._services.installs.running(name, option, agent.id) as running:
            result = self._install_noting(request, call, running)
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
    def installs(self) -> Json:
        """Installs that run or ran."""
        return {"installs": self._services.installs.listed()}

    def _install_noting(
        self, request: InstallRequest, call: RpcCall, running: Running
    ) -> InstallReport:
        about = pick(request, "skill option_id=installId")

        def output(stream: str, text: str) -> None:
            running.wrote(text)
            call.notify(PROGRESS, {**about, "stream": stream, "text": clean(text[-_MOST_OUTPUT:])})

        def progress(done: int, whole: int | None) -> None:
            running.received(done, whole)
            call.notify(PROGRESS, {**about, "received": done, "total": whole})

        return self._services.installing().install(
            request, output, progress, self._services.stopping
        )

    @rpc("skills.update", ClientScope.ADMIN)
    def update(
        self,
        skill_key: Name,
        *,
        enabled: bool | None = None,
        api_key: Secret | None = None,
        env: Variables | None = None,
    ) -> Json:
        """Switch it, keep its key."""
        if enabled is None and api_key is None and env is None:
            message = "invalid skills.update params: give enabled, apiKey or env"
            raise RpcError(Code.INVALID_REQUEST, message, {"field": "enabled"})
        return self._services.config.update_entry(skill_key, enabled, api_key, env)

    @rpc("skills.provide", ClientScope.ADMIN)
    def provide(
        self,
        skill_keys: Annotated[tuple[Name, ...], Field(min_length=1, max_length=10_000)],
        env: Variables,
    ) -> Json:
        """Give the same variables to several skills."""
        return self._services.config.provide(skill_keys, env)

    @rpc("skills.remove", ClientScope.ADMIN)
    def remove(self, skill_key: Name, source: Name, agent_id: Agent = None) -> Json:
        """Move it to the trash."""
        return self._services.removals.remove(skill_key, source, agent_id)

    @rpc("skills.restore", ClientScope.ADMIN)
    # The name that clients know.
    def restore(self, id: Name, agent_id: Agent = None) -> Json:  # noqa: A002
        """Bring it back."""
        return self._services.removals.restore(id, agent_id)

    @rpc("skills.scan.accept", ClientScope.ADMIN, slow=True)
    def scan_accept(
        self,
        skill_key: Name,
        rule_id: Name,
        reason: Annotated[str, Field(min_length=1, max_length=500)],
        evidence_hash: Annotated[str, Field(max_length=64)] = "",
        agent_id: Agent = None,
    ) -> Json:
        """Accept one finding of the scanner, as the operator."""
        skill = self._services.skills.find(skill_key, agent_id).skill
        accepted = self._services.accept(skill, rule_id, reason, evidence_hash)
        return self._show_standing(skill.name, agent_id, accepted=accepted)

    @rpc("skills.scan.revoke", ClientScope.ADMIN, slow=True)
    def scan_revoke(
        self,
        skill_key: Name,
        rule_id: Annotated[str, Field(max_length=200)] = "",
        evidence_hash: Annotated[str, Field(max_length=64)] = "",
        agent_id: Agent = None,
    ) -> Json:
        """Take back what was accepted of a skill."""
        skill = self._services.skills.find(skill_key, agent_id).skill
        revoked = self._services.revoke(skill, rule_id, evidence_hash)
        return self._show_standing(skill.name, agent_id, revoked=revoked)

    def _show_standing(
        self, name: str, agent_id: str | None, **changed: Sequence[Acceptance]
    ) -> Json:
        status = self._services.skills.find(name, agent_id)
        shown = {
            key: [wire_safety.acceptance(one) for one in rows] for key, rows in changed.items()
        }
        return {**shown, "skill": wire_skills.skill_status(status)}

    @rpc("config.get", ClientScope.READ)
    def config_get(self) -> Json:
        """The config, masked."""
        return self._services.config.get()

    @rpc("config.schema", ClientScope.READ)
    def config_schema(self) -> Json:
        """Its keys."""
        return self._services.config.schema()

    @rpc("config.set", ClientScope.ADMIN)
    def config_set(self, raw: Text, base_hash: Name | None = None) -> Json:
        """Replace the config."""
        raw = self._services.helpers.without(raw)
        return self._services.config.set(raw, base_hash)

    @rpc("config.patch", ClientScope.ADMIN)
    def config_patch(
        self,
        raw: Text,
        replace_paths: Annotated[tuple[Name, ...], Field(max_length=100)] = (),
        base_hash: Name | None = None,
        session_key: Name | None = None,
        note: Text = "",
    ) -> Json:
        """Merge into it."""
        # For whom and why OpenClaw's page asks: the log has the client.
        del session_key, note
        raw = self._services.helpers.without(raw)
        return self._services.config.patch(raw, base_hash, replace_paths)

    @rpc("skills.trash", ClientScope.READ)
    def trash(self) -> Json:
        """What can come back."""
        return {"removed": self._services.removals.listed()}


def _require(method: str, **fields: str | None) -> list[str]:
    """Return the values of fields; refuse a call that says too little.

    Raises:
        RpcError: a field is missing.
    """
    for field, value in fields.items():
        if value is None:
            message = f"invalid {method} params: {field}: is required"
            raise RpcError(Code.INVALID_REQUEST, message, {"field": field})
    return [value for value in fields.values() if value is not None]
