"""The methods about the gateway itself, and those that other clients need before they start."""

from collections.abc import Callable

from prowess.gateway.calls import Call, Code, Json, Method, NoParams, Params, RpcError, Scope
from prowess.gateway.methods import params as given
from prowess.gateway.methods.services import Services

MAIN_SESSION = "main"


def system_methods(services: Services) -> tuple[Method, ...]:
    """Return the methods that answer for the process."""
    system = _System(services)

    def reading(
        name: str,
        answer: Callable[[Call], Json],
        about: str,
        params: type[Params] = NoParams,
    ) -> Method:
        return Method(name=name, scope=Scope.READ, params=params, answer=answer, about=about)

    # OpenClaw's clients ask for some of these at their start, and take an empty list for none.
    lenient = given.Lenient

    return (
        reading("health", system.health, "Whether the gateway works, and for which agents."),
        reading("status", system.status, "How many skills are ready, and what waits."),
        reading("agents.list", system.agents, "The agents of the config."),
        reading("models.list", system.models, "The language model that reviews.", lenient),
        reading("sessions.list", system.sessions, "The conversations that are kept.", lenient),
        reading("exec.approvals.get", system.approvals, "No approvals: always empty.", lenient),
        reading("cron.list", lambda _: {"jobs": []}, "No scheduled jobs: always empty.", lenient),
        Method(
            name="node.bins",
            scope=Scope.NODE,
            params=given.NodeBins,
            answer=system.node_bins,
            about="Tell which programs this machine lends; they count until it leaves.",
        ),
    )


def snapshot(services: Services) -> Json:
    """Return what a client is told when it connects."""
    return {
        "health": health(services),
        "sessionDefaults": {
            "defaultAgentId": services.skills.settings.default_agent.id,
            "mainKey": MAIN_SESSION,
        },
    }


def health(services: Services) -> Json:
    """Say that it works, and for which agents."""
    settings = services.skills.settings
    default = settings.default_agent
    return {
        "ok": True,
        "defaultAgentId": default.id,
        "agents": [
            {"agentId": one.id, "name": one.name, "isDefault": one.id == default.id}
            for one in settings.agents
        ],
    }


class _System:
    """The answers, over one set of services."""

    def __init__(self, services: Services) -> None:
        self._services = services

    def health(self, call: Call) -> Json:
        """Say that it works."""
        del call
        uptime = self._services.now() - self._services.started_at
        return {**health(self._services), "uptimeMs": max(0, round(uptime * 1000))}

    def status(self, call: Call) -> Json:
        """Count what there is."""
        services = self._services
        del call
        report = services.skills.status()
        waiting = services.workshop().list("pending") if services.workshop().enabled else ()
        return {
            "version": services.version,
            "agentId": report.agent_id,
            "skills": {
                "total": len(report.skills),
                "ready": sum(row.usable for row in report.skills),
            },
            "proposals": {"pending": len(waiting), "enabled": services.workshop().enabled},
            "nodes": services.nodes.listed(),
        }

    def agents(self, call: Call) -> Json:
        """List the agents, each with its workspace and what it may use."""
        skills = self._services.skills
        del call
        default = skills.settings.default_agent
        return {
            "defaultId": default.id,
            "mainKey": MAIN_SESSION,
            "scope": "per-sender",
            "agents": [
                {
                    "id": one.id,
                    "name": one.name,
                    "isDefault": one.id == default.id,
                    "workspace": skills.workspace(one.id).folder,
                    "skills": None if one.skills is None else list(one.skills),
                }
                for one in skills.settings.agents
            ],
        }

    def models(self, call: Call) -> Json:
        """Name the language model of the settings, if there is one."""
        del call
        model = self._services.skills.settings.skills.model
        name = model.name if model.endpoint else ""
        return {"models": [{"id": name, "name": name, "provider": "endpoint"}] if name else []}

    def sessions(self, call: Call) -> Json:
        """List the conversations that are kept."""
        del call
        found = [dict(one) for one in self._services.sessions()]
        return {"sessions": found, "count": len(found)}

    def approvals(self, call: Call) -> Json:
        """Answer that no approvals are kept."""
        del call
        return {"path": "", "exists": False, "hash": "", "file": {"version": 1, "agents": {}}}

    def node_bins(self, call: Call) -> Json:
        """Take what a machine says that it has."""
        asked, client = call.params, call.client
        if not client.stays:
            message = "node.bins is for WebSockets: over HTTP nobody is told when a machine leaves"
            raise RpcError(Code.INVALID_REQUEST, message)
        platform = asked.platform or client.platform
        if not self._services.nodes.report(client.id, client.name, platform, asked.bins):
            raise RpcError(Code.UNAVAILABLE, "too many machines lend programs: close some first")
        return {"ok": True, "bins": len(set(asked.bins))}
