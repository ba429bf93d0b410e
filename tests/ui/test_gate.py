"""What every request passes: hosts, origins, visitors and uploads, and what sets their quotas."""

from __future__ import annotations

import asyncio
from functools import wraps
from types import SimpleNamespace

import pytest
from streamlit.proto.BackMsg_pb2 import BackMsg

from ui import gate
from ui.gate import Quotas
from ui.session.quota import (
    KEPT_SECONDS,
    MB,
    Quota,
    Uploaders,
    is_loopback,
    most_minutes,
    most_visitors,
)

FILE = "/_stcore/upload_file/ada/1"


def looped(test):
    """The test in an event loop of its own."""
    return wraps(test)(lambda **given: asyncio.run(test(**given)))


class Inner:
    """An application that answers, or keeps its websocket open until it is told."""

    def __init__(self) -> None:
        self.reached = 0
        self.end = asyncio.Event()

    async def __call__(self, scope, receive, send):
        self.reached += 1
        if scope["type"] == "websocket" or scope["method"] == "PUT":
            await self.end.wait()
        if scope["type"] == "http":
            await send({"type": "http.response.start", "status": 200, "headers": []})


async def ask(gate, path="/", kind="http", method="GET", client="127.0.0.1", **headers):
    """Status of an answer; of a refused websocket its code."""
    seen, came = [], [{"type": "websocket.connect"}]

    async def send(message):
        seen.append(message)

    async def receive():
        return came.pop() if came else await asyncio.Event().wait()

    named = {"host": "localhost:8501", **{k.replace("_", "-"): v for k, v in headers.items()}}
    await gate(
        {
            "type": kind,
            "path": path,
            "method": method,
            "client": (client, 1),
            "headers": [(k.encode(), v.encode()) for k, v in named.items()],
        },
        receive,
        send,
    )
    return next((m.get("status") or m.get("code") for m in seen), None)


def gate_of(inner, held=None, **quota):
    uploaders = Uploaders()
    uploaders.allow("ada")
    uploaders.allow("bob")
    return Quotas(inner, Quota(**quota), uploaders, lambda: dict(held or {}))


@pytest.mark.parametrize(
    ("host", "origin", "status"),
    [
        ("localhost:8501", None, 200),
        ("127.0.0.1:8501", "http://127.0.0.1:8501", 200),
        ("[::1]:8501", "http://[::1]:8501", 200),
        ("LOCALHOST", "http://localhost", 200),
        ("example.org", "https://example.org", 200),
        ("example.org:443", "https://example.org", 200),
        ("evil.example:8501", None, 400),
        ("evil.example:8501", "http://evil.example:8501", 400),
        ("localhost:8501", "http://localhost:1234", 400),
        ("localhost:8501", "http://evil.example", 400),
        ("localhost:8501", "null", 400),
        ("localhost:8501", "http://[evil", 400),
        ("localhost.evil.example", None, 400),
        ("", None, 400),
    ],
)
@looped
async def test_it_answers_to_its_own_names_and_pages_only(host, origin, status):
    gate = gate_of(Inner(), hosts=frozenset({"localhost", "127.0.0.1", "::1", "example.org"}))
    named = {"host": host} | ({} if origin is None else {"origin": origin})
    assert await ask(gate, **named) == status
    assert await ask(gate, "/_stcore/health", host="10.0.0.7") == 200
    if status != 200:
        assert await ask(gate, "/_stcore/stream", "websocket", **named) == 1013


@looped
async def test_a_full_dashboard_says_so_and_empties_again():
    inner = Inner()
    gate = gate_of(inner, visitors=3, visitors_each=2)
    stream = ("/_stcore/stream", "websocket")
    open_pages = [asyncio.create_task(ask(gate, *stream, client="10.0.0.1")) for _ in range(2)]
    await asyncio.sleep(0)
    assert await ask(gate, *stream, client="10.0.0.1") == 1013  # its share
    assert await ask(gate, *stream, x_forwarded_for="9.9.9.9, 10.0.0.1") == 1013
    assert await ask(gate, "/_stcore/health") == 200
    open_pages.append(asyncio.create_task(ask(gate, *stream, client="10.0.0.2")))
    await asyncio.sleep(0)
    assert await ask(gate, *stream, client="10.0.0.3") == 1013
    assert await ask(gate, accept="text/html,*/*", client="10.0.0.3") == 503
    assert await ask(gate, "/_stcore/health") == 503
    assert await ask(gate, "/static/a.js", accept="*/*", client="10.0.0.2") == 200
    inner.end.set()
    await asyncio.gather(*open_pages)
    assert await ask(gate, "/_stcore/health") == 200
    assert await ask(gate, *stream, client="10.0.0.3") is None
    assert gate._open == {}


async def sent(gate, messages, client="10.0.0.1"):
    """What an application gets of these messages, and what the page is told."""
    told, got = [], []
    left = [{"type": "websocket.connect"}]
    left += [{"type": "websocket.receive", "bytes": m.SerializeToString()} for m in messages]
    left.append({"type": "websocket.disconnect", "code": 1001})

    async def receive():
        return left.pop(0)

    async def send(message):
        told.append(message)

    async def inner(scope, receive, send):
        while not got or got[-1]["type"] != "websocket.disconnect":
            got.append(await receive())

    gate.app = inner
    headers = [(b"host", b"localhost")]
    scope = {"type": "websocket", "path": "/", "client": (client, 1), "headers": headers}
    await gate(scope, receive, send)
    kinds = [
        BackMsg.FromString(m["bytes"]).WhichOneof("type")
        for m in got
        if m["type"] == "websocket.receive"
    ]
    return kinds, [m["code"] for m in told]


def message(**what):
    made = BackMsg(**{k: v for k, v in what.items() if not isinstance(v, dict)})
    for name, fields in what.items():
        if isinstance(fields, dict):
            getattr(made, name).MergeFrom(type(getattr(made, name))(**fields))
    return made


def test_a_page_asks_for_what_our_pages_ask_for_only():
    rerun = message(rerun_script={"query_string": "n=1"})
    few = message(file_urls_request={"file_names": ["a.csv"]})
    many = message(file_urls_request={"file_names": [""] * 1000})

    async def run():
        strange = [message(load_git_info=True), message(clear_cache=True)]
        kinds, codes = await sent(gate_of(Inner()), [rerun, *strange, few])
        assert (kinds, codes) == (["rerun_script", "file_urls_request"], [])
        kinds, codes = await sent(gate_of(Inner()), [rerun, many, rerun])
        assert (kinds, codes) == (["rerun_script"], [1008])

    asyncio.run(run())


def test_messages_are_taken_no_faster_than_they_may_come(monkeypatch):
    """Also those of a page that has gone: what would have to wait then is dropped."""
    now, waited = 0.0, []

    async def wait(self, seconds):
        waited.append(seconds)
        return False

    monkeypatch.setattr(gate.Messages, "_ends_within", wait)
    monkeypatch.setattr(gate, "_MOST_WAITING", 2000)
    monkeypatch.setattr(gate.Pace.__init__, "__defaults__", (lambda: now,))

    async def run():
        many = [message(rerun_script={"query_string": "n=1"})] * 1000
        await sent(gate_of(Inner()), many)
        assert waited[:19] == [0.0] * 19
        assert waited[-1] == pytest.approx(1000 / 20 - 1, rel=0.01)
        waited.clear()
        await sent(gate_of(Inner()), [message(rerun_script={"query_string": "n" * 100_000})] * 10)
        assert waited[-1] == pytest.approx(110 / 20 - 1, rel=0.01)
        waited.clear()
        gate_ = gate_of(Inner())
        for _ in range(7):  # pages of one address, of which each alone would wait for 4 seconds
            await sent(gate_, many[:100])
        assert max(waited) == pytest.approx(700 / 50 - 1, rel=0.02)
        await sent(gate_, many[:100], client="10.0.0.2")
        assert waited[-1] == pytest.approx(100 / 20 - 1, rel=0.02)

    asyncio.run(run())


async def refused(gate, *sizes, stays=True, text=None):
    """Codes that a page is closed with for messages of so many bytes that come at once, with a text
    behind them, and how many of them an application got before.
    """
    codes, got, over = [], [], asyncio.Event()
    came = [{"type": "websocket.connect"}]
    came += [{"type": "websocket.receive", "bytes": b"\0" * size} for size in sizes]
    if text is not None:
        came.append({"type": "websocket.receive", "text": text})
    if not stays:
        came.append({"type": "websocket.disconnect", "code": 1006})

    async def receive():
        if came:
            return came.pop(0)
        await over.wait()
        return {"type": "websocket.disconnect", "code": codes[-1]}

    async def send(message):
        codes.append(message["code"])
        over.set()

    async def inner(scope, receive, send):
        while (message := await receive())["type"] != "websocket.disconnect":
            got.append(message)

    gate.app = inner
    scope = {"type": "websocket", "path": "/", "client": ("10.0.0.1", 1)}
    await asyncio.wait_for(gate(scope | {"headers": [(b"host", b"localhost")]}, receive, send), 60)
    assert not came
    assert not gate._open
    return codes, len(got)


@looped
async def test_a_page_that_sends_too_much_is_closed_before_anything_waits():
    assert await refused(gate_of(Inner()), gate.LARGEST_MESSAGE + 1) == ([1009], 0)
    assert await refused(gate_of(Inner()), *[400_000] * 5) == ([1008], 0)
    assert await refused(gate_of(Inner()), *[0] * 100_000) == ([1008], 0)


@pytest.mark.parametrize("text", ["", "\U0001f600" * 999_000], ids=["empty", "long"])
@looped
async def test_text_which_no_page_sends_closes_the_page_and_is_never_held(text):
    """Characters are not bytes, and a text was neither counted nor paced."""
    assert await refused(gate_of(Inner()), text=text) == ([1003], 0)
    assert await refused(gate_of(Inner()), *[400_000] * 2, text=text) == ([1003], 0)


@looped
async def test_who_leaves_while_messages_wait_frees_the_place_at_once():
    """The second of these would have to wait for a minute and a half, and the last for seven."""
    gate_ = gate_of(Inner())
    gate_._paces["10.0.0.1"] = gate.Pace(1.0)
    assert await refused(gate_, 0, *[900_000] * 2, stays=False) == ([], 2)


@looped
async def test_a_proxy_of_this_machine_is_not_one_visitor():
    inner = Inner()
    gate = gate_of(inner, visitors=10, visitors_each=2)
    stream = ("/_stcore/stream", "websocket")
    tasks = [
        asyncio.create_task(ask(gate, *stream, x_forwarded_for=f"1.1.1.1, 10.0.0.{k % 2}"))
        for k in range(4)
    ]
    await asyncio.sleep(0)
    assert inner.reached == 4
    assert await ask(gate, *stream, x_forwarded_for="2.2.2.2, 10.0.0.1") == 1013
    inner.end.set()
    await asyncio.gather(*tasks)


@pytest.mark.parametrize(
    ("path", "length", "held", "status"),
    [
        (FILE, 5 * MB, {}, 200),
        (f"/base{FILE}", 5 * MB, {}, 200),
        ("/_stcore/upload_file/eve/1", 1, {}, 404),
        ("/_stcore/upload_file/", 1, {}, 404),
        (FILE, "", {}, 411),
        (FILE, "-1", {}, 411),
        (FILE, "9" * 13, {}, 411),
        (FILE, 12 * MB, {}, 413),
        (FILE, 10 * MB, {"ada": 12 * MB}, 413),
        (FILE, 10 * MB, {"bob": 12 * MB}, 200),
        (FILE, 10 * MB, {"bob": 15 * MB, "cyd": 12 * MB}, 413),
    ],
)
@looped
async def test_uploads_have_quotas_and_need_the_login(path, length, held, status):
    inner = Inner()
    inner.end.set()
    gate = gate_of(inner, held, upload=10 * MB, upload_session=20 * MB, upload_all=30 * MB)
    assert await ask(gate, path, method="PUT", content_length=str(length)) == status
    assert inner.reached == (status == 200)
    assert await ask(gate, path, method="DELETE") == 200


@looped
async def test_a_length_beside_a_body_in_pieces_counts_for_nothing():
    inner = Inner()
    inner.end.set()
    told = {"content_length": "5", "transfer_encoding": "chunked"}
    assert await ask(gate_of(inner), FILE, method="PUT", **told) == 411
    assert inner.reached == 0


def test_an_empty_file_is_held_too(monkeypatch):
    storage = {"ada": {"1": SimpleNamespace(data=b""), "2": SimpleNamespace(data=b"abc")}}
    kept = SimpleNamespace(uploaded_file_mgr=SimpleNamespace(file_storage=storage))
    monkeypatch.setattr(gate.runtime, "exists", lambda: True)
    monkeypatch.setattr(gate.runtime, "get_instance", lambda: kept)
    assert gate.bytes_held()["ada"] > 2 * 4096


def test_only_addresses_of_this_machine_are_its_own():
    for host in ("localhost", "127.0.0.1", "127.0.0.2", "::1", "::ffff:127.0.0.1"):
        assert is_loopback(host)
    for host in ("127.evil.example", "127.", "", "::ffff:10.0.0.1", "10.0.0.1", "0.0.0.0"):
        assert not is_loopback(host)


@looped
async def test_a_network_of_ipv6_is_one_visitor():
    inner = Inner()
    gate = gate_of(inner, visitors=10, visitors_each=2)
    stream = ("/_stcore/stream", "websocket")
    named = [f"2001:db8:1:2::{k:x}" for k in range(2)]
    tasks = [asyncio.create_task(ask(gate, *stream, x_forwarded_for=one)) for one in named]
    await asyncio.sleep(0)
    for same in ("2001:db8:1:2:ffff::", "2001:DB8:1:2::9%eth0", "[2001:db8:1:2::7]:4711"):
        assert await ask(gate, *stream, x_forwarded_for=same) == 1013
    assert await ask(gate, *stream, client="2001:db8:1:2::8") == 1013
    tasks += [
        asyncio.create_task(ask(gate, *stream, client=other))
        for other in ("2001:db8:1:3::", "::ffff:192.0.2.1", "::ffff:192.0.2.2", "192.0.2.1")
    ]
    await asyncio.sleep(0)
    assert await ask(gate, *stream, client="::ffff:192.0.2.1") == 1013
    assert inner.reached == 6
    inner.end.set()
    await asyncio.gather(*tasks)


@looped
async def test_files_on_their_way_count():
    inner = Inner()
    gate = gate_of(inner, upload=10 * MB, upload_session=20 * MB, upload_all=25 * MB)
    size = {"method": "PUT", "content_length": str(10 * MB)}
    tasks = [asyncio.create_task(ask(gate, FILE, **size)) for _ in range(2)]
    await asyncio.sleep(0)
    assert await ask(gate, FILE, **size) == 413
    assert await ask(gate, FILE.replace("ada", "bob"), **size) == 413
    inner.end.set()
    await asyncio.gather(*tasks)
    assert await ask(gate, FILE, **size) == 200


@looped
async def test_one_address_leaves_room_for_the_files_of_others():
    """Also where it says how long its files are and never sends them."""
    inner = Inner()
    gate = gate_of(inner, upload=20 * MB, upload_session=40 * MB, upload_all=80 * MB)
    gate.uploaders.allow("eve")
    many = {"method": "PUT", "content_length": str(20 * MB)}
    files = [f"/_stcore/upload_file/{who}/1" for who in ("ada", "ada", "bob", "eve")]
    claims = [asyncio.create_task(ask(gate, f, client="10.0.0.1", **many)) for f in files[:2]]
    await asyncio.sleep(0)
    assert await ask(gate, files[2], client="10.0.0.1", **many) == 413
    claims.append(asyncio.create_task(ask(gate, files[3], client="10.0.0.2", **many)))
    await asyncio.sleep(0)
    inner.end.set()
    assert await asyncio.gather(*claims) == [200, 200, 200]


@looped
async def test_of_uploads_that_are_refused_at_the_door_nothing_is_kept():
    gate = gate_of(Inner())
    for k in range(3):
        path = f"/_stcore/upload_file/nobody{k}/1"
        assert await ask(gate, path, method="PUT", client="10.0.0.1", content_length="1") == 404
    assert await ask(gate, FILE, method="PUT", client="10.0.0.1") == 411
    assert not gate._came


def test_a_session_whose_page_left_is_kept_for_a_while_and_then_ended(monkeypatch):
    """With its files; one whose page came back is there as before."""
    now, there = [0.0], {"ada", "bob", "cyd"}
    closed, collected = [], []
    server = SimpleNamespace(
        is_active_session=there.__contains__,
        close_session=closed.append,
    )
    monkeypatch.setattr(gate.runtime, "exists", lambda: True)
    monkeypatch.setattr(gate.runtime, "get_instance", lambda: server)
    monkeypatch.setattr(gate.gc, "collect", lambda: collected.append(tuple(closed)))
    monkeypatch.setattr(gate, "give_back", lambda: collected.append("given back"))
    uploaders = Uploaders(lambda: now[0])
    for session in sorted(there):
        uploaders.allow(session)
    uploaders.bring("ada")  # and has removed it since: what was read of it may be there still

    def at(seconds, *present):
        now[0] = seconds
        there.intersection_update(present)
        there.update(present)
        gate.end_sessions(uploaders)
        return "".join(session[0] for session in ("ada", "bob", "cyd") if session in uploaders)

    assert at(0, "bob", "cyd") == "abc"
    assert at(30, "ada", "cyd") == "abc"
    assert at(40, "cyd") == "abc"
    assert (at(30 + KEPT_SECONDS, "cyd"), closed, collected) == ("ac", ["bob"], [])
    assert (at(40 + KEPT_SECONDS, "cyd"), closed) == ("c", ["bob", "ada"])
    assert collected == [("bob", "ada"), "given back"]
    assert not uploaders.brought_by(["ada"])


def test_sessions_are_looked_at_when_a_page_leaves_and_when_it_is_over(monkeypatch):
    asked, later = [], []

    async def run():
        loop = asyncio.get_running_loop()
        monkeypatch.setattr(loop, "call_later", lambda *call: later.append(call))
        inner = Inner()
        inner.end.set()
        gate_ = gate_of(inner)
        monkeypatch.setattr(gate, "end_sessions", asked.append)
        await ask(gate_, "/_stcore/stream", "websocket")
        assert asked == [gate_.uploaders]
        assert later[-1] == (KEPT_SECONDS + 1.0, asked.append, gate_.uploaders)

    asyncio.run(run())


@pytest.mark.parametrize(("files", "pages"), [(100_000, 200), (1_024, 200), (550, 100), (64, 1)])
def test_there_are_descriptors_for_every_page_that_is_let_in(files, pages, monkeypatch):
    resource = pytest.importorskip("resource")
    monkeypatch.setattr(resource, "getrlimit", lambda _: (files, files))
    assert most_visitors() == pages


def test_quotas_are_set_by_whoever_runs_it_and_nonsense_stops_the_start():
    usual = Quota.from_environment({})
    assert usual.hosts == {"localhost", "127.0.0.1", "::1"}
    assert usual.visitors == most_visitors()
    given = {"DPCI_HOSTS": "Example.org, b.org", "DPCI_VISITORS": "7", "DPCI_UPLOADS_MB": "50"}
    assert Quota.from_environment(given) == Quota(
        hosts=usual.hosts | {"example.org", "b.org"},
        visitors=7,
        visitors_each=3,
        upload_all=50 * MB,
    )
    assert Quota.from_environment({"DPCI_HOSTS": "*"}).hosts is None
    assert (usual.upload, usual.upload_session, usual.upload_all) == (200 * MB, 400 * MB, 800 * MB)
    demo = Quota.from_environment({"DPCI_PUBLIC_DEMO": "true"})
    assert (demo.upload, demo.upload_session, demo.upload_all) == (6 * MB, 12 * MB, 100 * MB)
    assert (most_minutes({}), most_minutes({"DPCI_PUBLIC_DEMO": "true"})) == (15, 3)
    for hosts in ("example.org:443", "https://example.org", "a.org, *", "a b"):
        with pytest.raises(ValueError, match="DPCI_HOSTS"):
            Quota.from_environment({"DPCI_HOSTS": hosts})
    assert "fe80::1" in (Quota.from_environment({"DPCI_HOSTS": "fe80::1"}).hosts or ())
    for engine in ("threads", "processes:0", "dask", "http://a:1"):
        with pytest.raises(ValueError, match="DPCI_ENGINE"):
            Quota.from_environment({"DPCI_ENGINE": engine})
    for name in ("DPCI_VISITORS", "DPCI_UPLOADS_MB", "DPCI_JOB_MINUTES"):
        for value in ("0", "-1", "many", "1e3", "٣", "9" * 30):
            with pytest.raises(ValueError, match=name):
                Quota.from_environment({name: value})
