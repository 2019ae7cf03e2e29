"""What the Python client gives back: values with fields, an error for nothing, and both roles."""

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from typing import Any

import pytest
from tests.integration.served_world import TOKEN, Served, served

from prowess.client import DeviceIdentity, Gateway, GatewayCallError, ProposalText, connect

PATIENCE = 60


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    made = Served(tmp_path_factory.mktemp("world"))
    made.skill("invoices", "Writes invoices for customers. Use when the user wants an invoice.")
    made.skill("papers", metadata={"openclaw": {"requires": {"anyBins": ["no-such-tool"]}}})
    made.configure(plugins={"entries": {"skill-workshop": {"enabled": True}}})
    with served(made) as running:
        yield running


def ask(
    world: Served,
    work: Callable[[Gateway], Coroutine[Any, Any, None]],
    **options: Any,  # noqa: ANN401 - as connect takes
) -> None:
    async def main() -> None:
        async with (
            asyncio.timeout(PATIENCE),
            connect(world.url, **{"token": TOKEN, **options}) as gateway,
        ):
            await work(gateway)

    asyncio.run(main())


def test_the_details_of_no_skill_are_an_error(world: Served) -> None:
    async def work(gateway: Gateway) -> None:
        with pytest.raises(GatewayCallError, match="no skill of that name") as refused:
            await gateway.detail("nope")

        assert refused.value.reason == "NOT_FOUND"

    ask(world, work)


def test_use_and_steps_have_fields(world: Served) -> None:
    async def work(gateway: Gateway) -> None:
        await gateway.prompt()
        await gateway.route("write an invoice for the customer")
        usage = await gateway.usage()
        why = await gateway.why("papers")

        total = next(one for one in usage.totals if one.name == "invoices")
        assert total.agent_id == "main"
        assert total["name"] == "invoices"
        assert set(total.counts) >= {"listed", "routed", "loaded"}
        assert all(event.sequence and event.at and event.type for event in usage.events)
        (stopped,) = [step for step in why.steps if not step.passed][:1]
        assert (stopped.stage, bool(stopped.detail), bool(stopped.fix)) == ("eligible", True, True)
        assert "raw" not in repr(total)

    ask(world, work)


def test_a_client_can_be_a_node(world: Served) -> None:
    async def work(gateway: Gateway) -> None:
        found = await gateway.call("skills.bins")

        assert found == {"bins": ["no-such-tool"]}
        assert gateway.hello.scopes == ("node",)
        with pytest.raises(GatewayCallError, match='role "operator"'):
            await gateway.status()

    ask(world, work, role="node")
    ask(world, work, role="node", device=DeviceIdentity.new())


def test_reasons_of_decisions_travel(world: Served) -> None:
    async def work(gateway: Gateway) -> None:
        text = ProposalText(content="# P\n\n- Weigh it.\n", description="Packs. Use it.")
        made = (await gateway.proposals.create("packing", text)).proposal
        applied = await gateway.proposals.apply(made.id, revision=made.revision, reason="right")
        back = await gateway.proposals.rollback(made.id, revision=made.revision, reason="wrong")

        assert (applied.raw["statusReason"], back.raw["statusReason"]) == ("right", "wrong")

    ask(world, work)
