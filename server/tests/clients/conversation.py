"""A whole conversation of two agents by a published Python client, in one era.

Usage: conversation.py sdk|fastmcp legacy|modern URL
"""

import asyncio
import json
import sys
import uuid
import warnings

import anyio
import mcp
import mcp.client.subscriptions
import mcp_types
from mcp.client.extension import ClientExtension, NotificationBinding
from pydantic import BaseModel, ConfigDict

import fastmcp

# The SDK calls what the older protocol version needs deprecated.
warnings.simplefilter("ignore", mcp.MCPDeprecationWarning)

MODES = {"legacy": "legacy", "modern": "2026-07-28"}
GUARD_SECONDS = 30


class Pushed(BaseModel):
    """The payload of a push: an event as `check` says it."""

    model_config = ConfigDict(extra="allow")
    seq: int


class Listening(ClientExtension):
    """Takes the messages that are pushed as notifications of their own."""

    identifier = "org.talking-stick/events"

    def __init__(self, queue):
        self.queue = queue

    def notifications(self):
        async def take(event):
            await self.queue.put(event.model_dump())

        return [NotificationBinding(method="message.received", params_type=Pushed, handler=take)]


class Agent:
    """One agent: a client, its handle, and how far it has read."""

    def __init__(self, package, era, url):
        self.package, self.era, self.url = package, era, url
        self.handle = self.uri = None
        self.after = 0
        self.read = []
        self.pushed = asyncio.Queue()
        self.updated = asyncio.Event()

    async def connect(self):
        # A client must be opened and closed by the same task.
        self.connected, self.leaving = asyncio.Future(), asyncio.Event()
        self.tasks = [asyncio.create_task(self.hold())]
        await asyncio.wait([self.connected, *self.tasks], return_when=asyncio.FIRST_COMPLETED)
        if not self.connected.done():
            # The task ended before it was connected; awaiting it raises the reason.
            await self.tasks[0]

    async def hold(self):
        try:
            async with self.make() as self.client:
                self.connected.set_result(None)
                await self.leaving.wait()
        except* anyio.ClosedResourceError:
            # The SDK's reader raises when a push arrives while it closes.
            if not self.leaving.is_set():
                raise

    def make(self):
        settings = dict(
            mode=MODES[self.era],
            message_handler=self.hear,
            extensions=[Listening(self.pushed)],
            cache=None,
        )
        if self.package == "sdk":
            return mcp.Client(self.url, read_timeout_seconds=GUARD_SECONDS, **settings)
        settings["cache"] = False
        return fastmcp.Client(self.url, timeout=GUARD_SECONDS, **settings)

    async def close(self):
        self.leaving.set()
        for task in reversed(self.tasks[1:]):
            task.cancel()
        await self.tasks[0]

    async def hear(self, message):
        if isinstance(message, mcp_types.ResourceUpdatedNotification):
            assert message.params.uri == self.uri, message
            self.updated.set()

    async def follow(self):
        """Asks to hear when the inbox grows, as the era has it."""
        if self.era == "legacy":
            session = self.client.session
            await session.subscribe_resource(self.uri)
            return
        listens = asyncio.Event()

        async def take():
            uris = [self.uri]
            session = self.client.session
            async with mcp.client.subscriptions.listen(session, resource_subscriptions=uris) as events:
                listens.set()
                async for event in events:
                    assert event.uri == self.uri, event
                    self.updated.set()

        self.tasks.append(asyncio.create_task(take()))
        async with asyncio.timeout(GUARD_SECONDS):
            await listens.wait()

    async def raw(self, tool, **arguments):
        if self.package == "sdk":
            result = await self.client.call_tool(tool, arguments)
        else:
            result = await self.client.call_tool_mcp(tool, arguments)
        text = result.content[0].text
        assert text.splitlines()[-1].startswith("next: "), text
        return result

    async def call(self, tool, **arguments):
        if self.handle is not None:
            arguments["handle"] = self.handle
        result = await self.raw(tool, **arguments)
        assert not result.is_error, result.content[0].text
        said = result.structured_content
        if "handle" in said:
            self.handle, self.uri = said["handle"], said["inbox_uri"]
        return said

    async def check(self, wanted):
        """Reads until an event is as wanted; every event on the way is the next one."""
        while True:
            while self.read:
                event = self.read.pop(0)
                if wanted(event):
                    return event
            page = await self.call("check", after=self.after, wait_seconds=20)
            for event in page["events"]:
                assert event["seq"] == self.after + 1, (event, self.after)
                self.after = event["seq"]
            self.read = page["events"]

    async def hears(self, text):
        event = await self.check(lambda event: event.get("message") == text)
        assert event["type"] == "message.received", event
        return event


async def pair(ann, ben):
    waiting = await ann.call("enter_queue", display_name=f"Ann-{ann.name}")
    assert waiting["status"] == "waiting", waiting
    await ben.call("enter_queue", display_name=f"Ben-{ben.name}")

    def is_found(event):
        return event["type"] == "chatroom.found"

    # Nobody is matched before the first use of the handle, which a check is.
    found, matched = await asyncio.gather(ann.check(is_found), ben.check(is_found))
    assert matched["partner"]["display_name"] == f"Ann-{ann.name}", matched
    assert found["room_id"] == matched["room_id"], found
    return matched["room_id"]


async def talk(ann, ben, room):
    for speaker, hearer, text in [(ann, ben, "hi"), (ben, ann, "hello"), (ann, ben, "bye")]:
        sent = await speaker.call("send_message", room_id=room, message=text)
        heard = await hearer.hears(text)
        assert heard["message_id"] == sent["message_id"], heard


async def push(ann, ben, room):
    await ann.follow()
    ann.updated.clear()
    await ben.call("send_message", room_id=room, message="pushed")
    async with asyncio.timeout(GUARD_SECONDS):
        await ann.updated.wait()
        if ann.era == "legacy":
            event = {}
            while event.get("message") != "pushed":
                event = await ann.pushed.get()
    if ann.package == "sdk":
        contents = (await ann.client.read_resource(f"{ann.uri}?after={ann.after}")).contents
    else:
        contents = await ann.client.read_resource(f"{ann.uri}?after={ann.after}")
    events = json.loads(contents[0].text)["events"]
    assert any(event.get("message") == "pushed" for event in events), events
    await ann.hears("pushed")


async def stick(ann, ben):
    room = f"room-{ann.name}"
    room_id = (await ann.call("login", username=f"Ann-{ann.name}", room=room))["room_id"]
    await ben.call("login", username=f"Ben-{ben.name}", room=room)
    granted = await ann.call("talking_stick", room_id=room_id)
    assert granted["place"] == 0, granted
    waiting = await ben.call("talking_stick", room_id=room_id)
    assert (waiting["status"], waiting["place"]) == ("waiting", 1), waiting
    refused = await ben.raw("push", room_id=room_id, handle=ben.handle)
    assert refused.is_error, refused
    await ann.call("append", room_id=room_id, text="from the ")
    await ann.call("append", room_id=room_id, text="draft")
    await ann.call("push", room_id=room_id)
    await ben.hears("from the draft")
    await ben.check(
        lambda e: e["type"] == "stick.granted" and e["user"]["display_name"].startswith("Ben")
    )
    await ben.call("reset", room_id=room_id)


async def come_back(ann, ben, room):
    await ann.close()
    said = [f"while you were away {n}" for n in range(20)]
    for text in said:
        await ben.call("send_message", room_id=room, message=text)
    await ann.connect()
    heard = []
    while len(heard) < len(said):
        page = await ann.call("check", after=ann.after, wait_seconds=20)
        heard += [e["message"] for e in page["events"] if e["type"] == "message.received"]
        ann.after = page["cursor"]
    assert heard == said, heard


async def leave(ann, ben, room):
    left = await ann.call("leave_chat", room_id=room)
    assert left["success"], left
    gone = await ben.check(lambda event: event["type"] == "partner.disconnected")
    assert gone["reason"] == "left", gone


async def main(package, era, url):
    name = uuid.uuid4().hex[:8]
    ann, ben = Agent(package, era, url), Agent(package, era, url)
    ann.name = ben.name = name
    await ann.connect()
    await ben.connect()
    if era == "legacy":
        refused = await ann.raw("check", wait_seconds=0)
        assert refused.structured_content["error"]["code"] == "handle_required", refused
    room = await pair(ann, ben)
    if era == "legacy":
        users = await ann.raw("list_users", room_id=room)
        assert not users.is_error, users
    await talk(ann, ben, room)
    await push(ann, ben, room)
    await stick(ann, ben)
    await come_back(ann, ben, room)
    await leave(ann, ben, room)
    await ann.close()
    await ben.close()
    print(f"{package}, {era}: queue, match, talk, push, stick, reconnect, leave")


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
