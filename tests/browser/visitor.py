"""A visitor without a browser: speaks the page's websocket protocol, moves a control and reads what
the chart holds.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.Element_pb2 import Element
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.proto.WidgetStates_pb2 import WidgetState
from websockets.sync.client import ClientConnection, connect
from websockets.typing import Subprotocol

_WIDGETS = ("slider", "button_group", "text_input")
"""Kinds of controls that a visitor can move."""
PATIENCE = 120.0
"""Seconds without an answer after which a visitor gives up."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Answer:
    """What one run of the page sent.

    seconds: from the request to the end of the run.  n_bytes: all messages.  charts: each figure,
    by its key.
    errors: texts of exceptions on the page.
    """

    seconds: float
    n_bytes: int
    charts: dict[str, Any]
    errors: tuple[str, ...] = ()


@dataclass
class Visitor:
    """One session on a page of a running dashboard.

    query: the link's parameters, without the question mark.
    """

    socket: ClientConnection
    page: str
    query: str = ""
    _widgets: dict[str, Element] = field(default_factory=dict)
    _hash: str = ""

    def open(self) -> Answer:
        """Visit the page for the first time."""
        return self._run(BackMsg())

    def options(self, key: str) -> list[str]:
        """The positions of a slider, as they are written beside it."""
        return list(self._widgets[key].slider.options)

    def move(self, key: str, option: str) -> Answer:
        """Let go of a slider at one of its positions, or choose one of the buttons in a row."""
        moved = self._state(key)
        moved.string_array_value.data.append(option)
        return self._send(moved)

    def type_number(self, key: str, value: float) -> Answer:
        """Type a number and confirm it."""
        moved = self._state(key)
        moved.string_value = str(value)
        return self._send(moved)

    def _state(self, key: str) -> WidgetState:
        element = self._widgets[key]
        return WidgetState(id=getattr(element, element.WhichOneof("type") or "").id)

    def _send(self, moved: WidgetState) -> Answer:
        request = BackMsg()
        request.rerun_script.widget_states.widgets.append(moved)
        return self._run(request)

    def _run(self, request: BackMsg) -> Answer:
        rerun = request.rerun_script
        rerun.query_string, rerun.page_script_hash, rerun.page_name = (
            self.query,
            self._hash,
            self.page,
        )
        started = time.perf_counter()
        self.socket.send(request.SerializeToString())
        n_bytes, charts, errors = 0, {}, []
        while True:
            raw = self.socket.recv(timeout=PATIENCE)
            assert isinstance(raw, bytes)
            n_bytes += len(raw)
            message = ForwardMsg.FromString(raw)
            kind = message.WhichOneof("type")
            if kind == "navigation":
                self._hash = message.navigation.page_script_hash
            elif kind == "page_info_changed":
                self.query = message.page_info_changed.query_string
            elif kind == "delta":
                self._read(message.delta.new_element, charts, errors)
            elif (
                kind == "script_finished"
                and message.script_finished == ForwardMsg.FINISHED_SUCCESSFULLY
            ):
                took = time.perf_counter() - started
                return Answer(seconds=took, n_bytes=n_bytes, charts=charts, errors=tuple(errors))

    def _read(self, element: Element, charts: dict[str, Any], errors: list[str]) -> None:
        kind = element.WhichOneof("type")
        if kind in _WIDGETS:
            self._widgets[_key(getattr(element, kind).id)] = element
        elif kind == "plotly_chart":
            charts[_key(element.plotly_chart.id)] = json.loads(element.plotly_chart.spec)
        elif kind == "bidi_component" and element.bidi_component.component_name == "dpci_picture":
            drawn = json.loads(element.bidi_component.json)
            charts[f"chart_{drawn['name']}"] = drawn
        elif kind == "exception":
            errors.append(f"{element.exception.type}: {element.exception.message}")


@contextmanager
def visiting(port: int, page: str, query: str = "") -> Iterator[Visitor]:
    """A visitor on a page of the dashboard at this port of this machine, who leaves afterwards."""
    address = f"ws://127.0.0.1:{port}/_stcore/stream"
    with connect(
        address, subprotocols=[Subprotocol("streamlit")], max_size=None, proxy=None
    ) as socket:
        yield Visitor(socket, page, query)


def _key(identity: str) -> str:
    """The key that a widget or chart was given: what follows the digest in its identity."""
    return identity.split("-", 2)[-1]
