"""A published Python client goes on while its server is killed and stopped, again and again.

Usage: restart.py sdk1|sdk|fastmcp legacy|modern PROGRAM ROUNDS

In the older era the client has its session alone, and passes no handle. An answer may cost one retry.
"""

import asyncio
import contextlib
import json
import signal
import socket
import subprocess
import sys
import tempfile
import urllib.request

import mcp

GUARD_SECONDS = 30


class Server:
    """The server on one folder and one port, over all its restarts."""

    def __init__(self, program, folder):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        listen = f"127.0.0.1:{self.port}"
        self.command = [program, "--listen", listen, "--data", folder, "--limit", "stick=optional"]
        self.base = f"http://{listen}"

    def start(self):
        self.log = tempfile.TemporaryFile()
        self.process = subprocess.Popen(self.command, stderr=self.log, stdout=subprocess.DEVNULL)

    def restart(self, how):
        self.process.send_signal(how)
        self.process.wait()
        self.start()

    async def ready(self):
        async with asyncio.timeout(GUARD_SECONDS):
            while self.process.poll() is None:
                with contextlib.suppress(OSError):
                    _, writer = await asyncio.open_connection("127.0.0.1", self.port)
                    writer.close()
                    return
                await asyncio.sleep(0.01)
        raise AssertionError("it did not start")

    def post(self, path, handle, body):
        headers = {"Content-Type": "application/json", "Chat-Handle": handle}
        headers = {name: value for name, value in headers.items() if value}
        request = urllib.request.Request(self.base + path, json.dumps(body).encode(), headers)
        with urllib.request.urlopen(request, timeout=GUARD_SECONDS) as answer:
            return json.load(answer)


@contextlib.asynccontextmanager
async def session_of_the_first_sdk(url):
    from mcp.client.streamable_http import streamablehttp_client

    async with streamablehttp_client(url) as (read, write, _):
        async with mcp.ClientSession(read, write) as session:
            await session.initialize()
            yield session


def client(package, era, url):
    """What calls tools, as a context."""
    mode = {"legacy": "legacy", "modern": "2026-07-28"}[era]
    if package == "sdk1":
        return session_of_the_first_sdk(url)
    if package == "sdk":
        return mcp.Client(url, mode=mode, read_timeout_seconds=GUARD_SECONDS)
    import fastmcp

    return fastmcp.Client(url, mode=mode, timeout=GUARD_SECONDS)


async def call(client, tool, arguments):
    by_protocol = getattr(client, "call_tool_mcp", client.call_tool)
    result = await by_protocol(tool, arguments)
    said = getattr(result, "structured_content", None) or result.structuredContent
    assert "error" not in said, said
    return said


async def main(package, era, program, rounds):
    with tempfile.TemporaryDirectory() as folder:
        server = Server(program, folder)
        server.start()
        await server.ready()
        try:
            retried = await converse(package, era, server, int(rounds))
        finally:
            server.process.kill()
            server.process.wait()
    print(f"{package}, {era}: {rounds} restarts, {retried} calls repeated once, 0 failed")


async def converse(package, era, server, rounds):
    ben = server.post("/register", "", {"username": "ben"})["handle"]
    retried = 0
    async with client(package, era, server.base + "/mcp") as ann:
        me = await call(ann, "login", {"username": "ann"})
        named = {} if era == "legacy" else {"handle": me["handle"]}
        after = (await call(ann, "check", {**named, "wait_seconds": 0}))["cursor"]
        for n in range(rounds):
            server.post("/send", ben, {"message": f"message {n}"})
            server.restart(signal.SIGKILL if n % 2 == 0 else signal.SIGTERM)
            await server.ready()
            arguments = {**named, "after": after, "wait_seconds": 0}
            try:
                page = await call(ann, "check", arguments)
            except Exception as error:
                print(f"repeated after {error!r}", file=sys.stderr)
                retried += 1
                page = await call(ann, "check", arguments)
            texts = [event["message"] for event in page["events"] if "message" in event]
            assert texts == [f"message {n}"], page
            after = page["cursor"]
        again = await call(ann, "login", {**named, "username": "ann"})
        assert again["user_id"] == me["user_id"], again
    return retried


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
