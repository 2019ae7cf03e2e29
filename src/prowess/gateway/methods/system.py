"""The methods about the gateway itself, and those that other clients need before they start.

Clients of OpenClaw (its terminal, its page, Claw3D) ask for agents' files, names and conversations
before they show any skill. What Prowess has none of is answered as empty (`absent.toml`), so that
their pages show it as empty and not as an error.

Claw3D removes a skill by an agent that it makes for that alone and asks in plain words. No model
deletes folders here: its agent is a name in memory, the folder that it is to delete is looked up
among the skills that are known, and `skills.remove` does the rest, with its guards and its way
back.
"""

import hashlib
import json
import platform
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Annotated, Any

from pydantic import Field, StringConstraints

from prowess.data import read_table
from prowess.errors import PathError
from prowess.gateway.calls import (
    ClientScope,
    Code,
    Json,
    LenientParams,
    Method,
    RpcCall,
    RpcError,
    rpc,
)
from prowess.gateway.methods import params as given
from prowess.gateway.methods.params import Agent, AgentId, Message, Name
from prowess.gateway.methods.services import Services
from prowess.skills.model import Skill, Tier
from prowess.skills.text import clean, cut_listed
from prowess.wire.skills import leave_out_nulls, pick

_ABSENT = "gateway/methods/absent.toml"
# What agents of OpenClaw have in their workspace; nothing else of it is shown.
_EXPECTED = ("AGENTS.md", "BOOTSTRAP.md", "TOOLS.md", "HEARTBEAT.md")
_LISTED = ("AGENTS.md", "SOUL.md", "USER.md", "BOOTSTRAP.md", "MEMORY.md")
_FILES = frozenset((*_EXPECTED, *_LISTED, "IDENTITY.md"))
MOST_FILE_BYTES = 262_144
_CARD = "skill-card.md"
_TARGET = re.compile(r'^Target directory: ("(?:[^"\\]|\\.)*")$', re.MULTILINE)
_NO_AGENTS = (
    "this gateway runs no agents and holds no conversations: talk to one with `prowess chat`, or"
    " connect a coding agent with `prowess connect`"
)
MAIN_SESSION = "main"
# Of an agent: nothing wakes it by itself here, and its conversations are with others.
NO_HEARTBEAT: Json = {"enabled": False, "every": "disabled", "everyMs": None}
NO_SESSIONS: Json = {"path": "", "count": 0, "recent": []}


def snapshot(services: Services) -> Json:
    """Return what a client is told when it connects."""
    return {
        "health": health(services),
        "sessionDefaults": {"defaultAgentId": services.skills.agent().id, "mainKey": MAIN_SESSION},
    }


def health(services: Services) -> Json:
    """Say that it works, and for which agents; there are neither channels nor heartbeats."""
    default = services.skills.agent()
    return {
        **find_absent("health"),
        "ts": round(services.now() * 1000),
        "defaultAgentId": default.id,
        "agents": [
            {
                **pick(one, "id=agentId name"),
                "isDefault": one.id == default.id,
                "sessions": NO_SESSIONS,
            }
            for one in services.skills.settings.agents
        ],
        "sessions": NO_SESSIONS,
        **_show_database(services),
    }


def _show_database(services: Services) -> Json:
    """Return whether the database is there; why not is for those who may ask for `status`."""
    found = services.fleet().get("database")
    return {"database": {"state": found["state"]}} if found else {}


def count_database(services: Services) -> dict[str, float]:
    """Return what `/metrics` says of the database of a fleet; nothing where there is none."""
    found = services.fleet().get("database")
    return {"database_up": float(found["state"] == "ok")} if found else {}


class SystemMethods:
    """The answers, over one set of services."""

    def __init__(self, services: Services) -> None:
        self._services = services

    @rpc("health", ClientScope.READ)
    def health(self, _asked: given.HealthParams) -> Json:
        """Whether the gateway works, and for which agents."""
        uptime = self._services.now() - self._services.started_at
        return {**health(self._services), "uptimeMs": max(0, round(uptime * 1000))}

    @rpc("status", ClientScope.READ)
    def status(self, _asked: given.CountsParams) -> Json:
        """How many skills are ready, and what waits."""
        services = self._services
        report = services.skills.status()
        waiting = services.workshop().list("pending") if services.workshop().enabled else ()
        agents = [one.id for one in services.skills.settings.agents]
        return {
            **find_absent("status"),
            "runtimeVersion": services.version,
            "heartbeat": {
                "defaultAgentId": report.agent_id,
                "agents": [{"agentId": one, **NO_HEARTBEAT} for one in agents],
            },
            "sessions": {
                "paths": [],
                "count": len(services.sessions()),
                "defaults": session_defaults(services),
                "recent": [],
                "byAgent": [{"agentId": one, **NO_SESSIONS} for one in agents],
            },
            "version": services.version,
            "agentId": report.agent_id,
            "skills": {
                "total": len(report.skills),
                "ready": sum(row.usable for row in report.skills),
            },
            "proposals": {"pending": len(waiting), "enabled": services.workshop().enabled},
            "nodes": services.nodes.listed(),
            **services.fleet(),
        }

    @rpc("agents.list", ClientScope.READ)
    def agents(self) -> Json:
        """The agents of the config."""
        skills = self._services.skills
        default = skills.agent()
        return {
            "defaultId": default.id,
            "mainKey": MAIN_SESSION,
            "scope": "per-sender",
            "agents": [
                {
                    **pick(one, "id name"),
                    "isDefault": one.id == default.id,
                    "workspace": skills.workspace(one.id).folder,
                    # Absent where it may use every skill, which an empty list would not say.
                    **({} if one.skills is None else {"skills": list(one.skills)}),
                }
                for one in skills.settings.agents
            ],
        }

    @rpc("models.list", ClientScope.READ, lenient=True)
    def models(self) -> Json:
        """The language model that reviews."""
        model = self._services.skills.settings.skills.model
        name = model.name if model.endpoint else ""
        return {"models": [{"id": name, "name": name, "provider": "endpoint"}] if name else []}

    @rpc("sessions.list", ClientScope.READ, lenient=True)
    def sessions(
        self,
        agent_id: Agent = None,
        search: Annotated[str, StringConstraints(max_length=1_000)] | None = None,
        limit: Annotated[int, Field(ge=1, le=10_000)] = 200,
    ) -> Json:
        """The conversations that are kept, all of them of the default agent."""
        services = self._services
        agent = services.skills.agent().id
        rows = [
            {"key": f"agent:{agent}:{name}", "agentId": agent, "kind": "direct", "updatedAt": at}
            for name, at in services.sessions()
            if agent_id in {None, agent} and (search or "") in f"agent:{agent}:{name}"
        ]
        shown = rows[:limit]
        return {
            "ts": round(services.now() * 1000),
            "path": "",
            "count": len(shown),
            "totalCount": len(rows),
            "limitApplied": limit,
            "nextOffset": len(shown) if len(shown) < len(rows) else None,
            "hasMore": len(shown) < len(rows),
            "owners": [],
            "defaults": session_defaults(services),
            "sessions": shown,
        }

    @rpc("node.bins", ClientScope.NODE)
    def node_bins(
        self,
        call: RpcCall,
        bins: Annotated[tuple[Name, ...], Field(max_length=2_000)],
        platform: Name | None = None,
    ) -> Json:
        """Tell which programs this machine lends; they count until it leaves."""
        client = call.client
        if not client.stays:
            message = "node.bins is for WebSockets: over HTTP nobody is told when a machine leaves"
            raise RpcError(Code.INVALID_REQUEST, message)
        platform = platform or client.platform
        if not self._services.nodes.report(client.id, client.name, platform, bins):
            raise RpcError(Code.UNAVAILABLE, "too many machines lend programs: close some first")
        return {"ok": True, "bins": len(set(bins))}


class ClientMethods:
    """The answers, over one set of services."""

    def __init__(self, services: Services) -> None:
        self._services = services

    @rpc("system-presence", ClientScope.READ, lenient=True)
    def presence(self) -> list[Json]:
        """The gateway and who is connected, without addresses."""
        services = self._services
        own = {
            "host": platform.node() or "gateway",
            "version": services.version,
            "platform": platform.system().lower(),
            "mode": "gateway",
            "reason": "self",
            "text": f"Gateway: Prowess {services.version}",
            "ts": round(services.now() * 1000),
        }
        return [own, *(_show_client(one) for one in services.presence())]

    @rpc("agent.identity.get", ClientScope.READ)
    def identity(self, session_key: Name | None = None, agent_id: Agent = None) -> Json:
        """What an agent is called."""
        of_session = (session_key or "").split(":")
        named = of_session[1] if of_session[0] == "agent" and len(of_session) > 1 else None
        agent = self._services.skills.agent(agent_id or named)
        name = clean(agent.name)
        return {"agentId": agent.id, "name": name, "nameSource": "config", "avatar": name[:1]}

    @rpc("agents.files.list", ClientScope.READ)
    def files(self, agent_id: AgentId) -> Json:
        """Which of the files that tell an agent who it is are there."""
        agent, folder = self._place(agent_id)
        rows = [self._file(folder, name, with_text=False) for name in _LISTED]
        return {"agentId": agent, "workspace": folder, "files": rows}

    @rpc("agents.files.get", ClientScope.READ)
    def file(self, name: Name, agent_id: AgentId) -> Json:
        """One of the files that tell an agent who it is; `missing` where it is not there."""
        agent, folder = self._place(agent_id)
        if name not in _FILES:
            message = f'unsupported file "{clean(name)}": it is none of {sorted(_FILES)}'
            raise RpcError(Code.INVALID_REQUEST, message, {"field": "name"})
        found = self._file(folder, name, with_text=True)
        return {"agentId": agent, "workspace": folder, "file": found}

    def _place(self, agent_id: str) -> tuple[str, str]:
        agent = self._services.skills.agent(agent_id)
        return agent.id, self._services.skills.workspace(agent.id).folder

    def _file(self, folder: str, name: str, *, with_text: bool) -> Json:
        shown: Json = {"name": name, "path": f"{folder}/{name}"}
        found = self._read(folder, name)
        if found is None:
            return {**shown, "missing": True, "expectedAbsent": name not in _EXPECTED}
        body, at = found
        shown |= {"missing": False, "size": len(body), "updatedAtMs": round(at * 1000)}
        shown["hash"] = hashlib.sha256(body).hexdigest()
        return {**shown, "content": clean(body.decode(errors="replace"))} if with_text else shown

    def _read(self, folder: str, name: str) -> tuple[bytes, float] | None:
        with suppress(PathError):
            return self._services.read_file(folder, name, MOST_FILE_BYTES)
        return None

    @rpc("skills.skillCard", ClientScope.READ)
    def card(self, skill_key: Name, agent_id: Agent = None) -> Json:
        """The card of a skill (`skill-card.md`), where it has one."""
        skill = self._services.skills.find(skill_key, agent_id).skill
        found = self._read(skill.folder, _CARD)
        if found is None:
            message = f"skill card not found for {clean(skill_key)}: it has no {_CARD}"
            raise RpcError(Code.INVALID_REQUEST, message, {"field": "skillKey"})
        body, _ = found
        return {
            "schema": "openclaw.skills.skill-card.v1",
            "skillKey": clean(skill.key),
            "path": clean(f"{skill.folder}/{_CARD}"),
            "sizeBytes": len(body),
            "content": clean(body.decode(errors="replace")),
        }

    @rpc("skills.workshop.read", ClientScope.READ)
    def workshop_read(self, name: Name, agent_id: Agent = None) -> Json:
        """The text of a skill that the workshop can change."""
        skill = self._services.skills.find(name, agent_id).skill
        if skill.source.tier is not Tier.WORKSPACE:
            message = f"{skill.name} is not a skill of this workspace: the workshop changes those"
            raise RpcError(Code.INVALID_REQUEST, message, {"field": "name"})
        found = self._services.read_file(skill.folder, "SKILL.md", MOST_FILE_BYTES)
        return {
            **pick(skill, "name key=skillKey description"),
            "content": "" if found is None else clean(found[0].decode(errors="replace")),
        }

    @rpc("skills.search", ClientScope.READ, slow=True)
    def search(
        self, query: Name | None = None, limit: Annotated[int, Field(ge=1, le=100)] = 20
    ) -> Json:
        """The skills that are here and in the operator's registries, by what they are for."""
        skills = [row.skill for row in self._services.skills.status().skills]
        ranked = self._rank(query, skills) if query else []
        results = [
            {
                "score": round(score, 4),
                "slug": clean(skill.name),
                "registry": "local",
                "installRef": clean(skill.name),
                "displayName": clean(skill.title or skill.name),
                "summary": cut_listed(skill.description),
                **pick(skill, "metadata.emoji?=icon version?"),
            }
            for score, skill in ranked[:limit]
        ]
        left = limit - len(results)
        offered, problems = self._services.search_registries(query) if query and left else ((), ())
        results += [_offer(place, row) for place, row in enumerate(offered[:left], 1)]
        answer: Json = {"results": leave_out_nulls(results)}
        return {**answer, "problems": list(map(clean, problems))} if problems else answer

    def _rank(self, query: str, skills: Sequence[Skill]) -> list[tuple[float, Skill]]:
        """Return what has the words of a query in its name or description, or means the same."""
        routing = self._services.routing()
        meant = {one.skill.id: one.score for one in routing.route(query).matches}
        words = query.casefold().split()

        def score(skill: Skill) -> float:
            said = f"{skill.name} {skill.description}".casefold()
            return 1.0 if all(word in said for word in words) else meant.get(skill.id, 0.0)

        found = [(score(skill), skill) for skill in skills]
        return sorted((one for one in found if one[0]), key=lambda one: -one[0])

    @rpc("sessions.messages.subscribe", ClientScope.READ, lenient=True)
    def follow(self, key: Name) -> Json:
        """No messages will come: no agent runs here."""
        key = clean(key)
        replay = {**find_absent("replay"), "sessionKey": key}
        replay["updatedAtMs"] = round(self._services.now() * 1000)
        return {"subscribed": True, "key": key, "approvalReplay": replay}

    @rpc("chat.startup", ClientScope.READ, lenient=True)
    def chat_startup(self, session_key: Name) -> Json:
        """An empty conversation."""
        return self._conversation(session_key)

    @rpc("chat.history", ClientScope.READ, lenient=True)
    def chat_history(self, session_key: Name) -> Json:
        """An empty conversation."""
        return self._conversation(session_key)

    def _conversation(self, session_key: str) -> Json:
        about = {"sessionKey": clean(session_key), "defaults": session_defaults(self._services)}
        return {**find_absent("conversation"), **about}

    @rpc("agents.create", ClientScope.ADMIN, lenient=True)
    def create_agent(
        self,
        name: Name,
        workspace: Annotated[str, StringConstraints(min_length=1, max_length=4_096)] | None = None,
    ) -> Json:
        """A helper of Claw3D that removes one skill; other agents are made in the config."""
        helper = self._services.helpers.begin(name)
        if helper is None:
            message = "agents are made in the config here: add one to agents.list with config.patch"
            raise RpcError(Code.INVALID_REQUEST, message, {"field": "name"})
        folder = workspace or self._services.skills.workspace(None).folder
        return {"ok": True, "agentId": helper, "name": name, "workspace": folder}

    @rpc("chat.send", ClientScope.ADMIN, lenient=True)
    def send(self, message: Message, session_key: Name) -> Json:
        """Remove the one skill that a helper of Claw3D is asked to; nothing else is answered."""
        run = self._services.helpers.run_of(session_key)
        if run is None:
            raise RpcError(Code.INVALID_REQUEST, _NO_AGENTS, {"field": "sessionKey"})
        self._remove(message)
        return {"runId": run, "status": "started"}

    def _remove(self, message: str) -> None:
        """Move the skill whose folder the message names to the trash.

        Raises:
            RpcError: it names none that could be removed.
        """
        named = _TARGET.search(message)
        target = str(json.loads(named[1])) if named else ""
        for agent in self._services.skills.settings.agents:
            for row in self._services.skills.status(agent.id).skills:
                skill = row.skill
                if target and skill.folder == target.rstrip("/"):
                    tier = skill.source.tier.source_id
                    self._services.removals.remove(skill.key, tier, agent.id)
                    return
        message = f"no skill lies in {clean(target) or 'any folder that the message names'}"
        raise RpcError(Code.INVALID_REQUEST, f"{message}: nothing was removed")

    @rpc("agent.wait", ClientScope.WRITE, lenient=True)
    def wait(self, run_id: Name) -> Json:
        """How a removal by a helper of Claw3D ended, which is at once."""
        if not self._services.helpers.has_run(run_id):
            raise RpcError(Code.INVALID_REQUEST, _NO_AGENTS, {"field": "runId"})
        return {"runId": run_id, "status": "ok"}


def _show_client(client: Json) -> Json:
    return {
        "host": client["name"],
        "platform": client["platform"],
        "mode": client["role"],
        "reason": "connect",
        "text": f"{client['name']}: {client['role']}",
        "ts": client["since"],
    }


def session_defaults(services: Services) -> Json:
    """Return by what conversations would run, were there any."""
    model = services.skills.settings.skills.model
    name = model.name if model.endpoint else None
    return {**find_absent("session"), "modelProvider": name and "endpoint", "model": name}


# Whatever the table holds.
def find_absent(name: str, _call: RpcCall | None = None) -> Any:  # noqa: ANN401
    """Return the answer about something of which there is none here."""
    rows = (row for group in read_table(_ABSENT).values() for row in group["answers"])
    return json.loads(next(text for known, text in rows if known == name))


def absent_methods() -> tuple[Method, ...]:
    """Return the methods about what there is none of here."""
    groups = [group for group in read_table(_ABSENT).values() if not group.get("is_part")]
    return tuple(
        Method(
            name=name,
            # Theirs want `operator.pairing` for one, `operator.approvals` for another.
            scope=None,
            params=LenientParams,
            answer=partial(find_absent, name),
            about="Always empty: Prowess has none.",
        )
        for group in groups
        for name, _ in group["answers"]
    )


def _offer(place: int, row: Mapping[str, str]) -> Json:
    """Return what a registry found; it gives an order, and scores of its own kind or none."""
    return {
        "score": round(1 / (1 + place), 4),
        "slug": clean(row["name"]),
        "registry": clean(row["registry"]),
        "installRef": clean(f"clawhub:{row['name']}"),
        "displayName": clean(row["title"] or row["name"]),
        "summary": cut_listed(row["summary"]),
        "version": clean(row["version"]) or None,
    }
