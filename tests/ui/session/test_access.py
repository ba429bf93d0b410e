"""Login through Streamlit's own OIDC: nothing without [auth], nobody past the door with it; what a
demo leaves out.
"""

from __future__ import annotations

from pathlib import Path

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from ui.session import access, quota
from ui.session.text import plain

ROOT = Path(__file__).resolve().parents[3]
AUTH = {
    "redirect_uri": "http://localhost:8501/oauth2callback",
    "cookie_secret": "x" * 32,
    "client_id": "dpci",
}
ADA = {"is_logged_in": True, "email": "ada@example.org", "email_verified": True, "sub": "42"}
UNVERIFIED = {"is_logged_in": True, "email": "ada@example.org", "sub": "42"}


def shell(secrets: dict | None = None, user: dict | None = None) -> AppTest:
    app = AppTest.from_file(str(ROOT / "ui" / "shell.py"), default_timeout=60)
    for name, section in (secrets or {}).items():
        app.secrets[name] = section
    if user is not None:
        app.user = user
    app.run()
    assert not app.exception
    return app


def page_is_open(app: AppTest) -> bool:
    return any(button.key == "pin" for button in app.button)


def test_without_auth_nobody_is_asked():
    app = shell()
    assert page_is_open(app)
    assert not [button for button in app.button if "log" in (button.key or "")]


def test_other_secrets_ask_nobody_either():
    assert page_is_open(shell({"mail": {"host": "localhost"}}, ADA))


def test_a_stranger_sees_a_button_and_nothing_else():
    app = shell({"auth": AUTH}, {"is_logged_in": False})
    assert not page_is_open(app)
    assert [button.label for button in app.button] == ["Log in"]


def test_an_address_without_a_login_is_no_login():
    app = shell({"auth": AUTH}, {"email": "ada@example.org"})
    assert not page_is_open(app)


def test_named_providers_each_have_a_button():
    shared = {name: value for name, value in AUTH.items() if name != "client_id"}
    app = shell(
        {"auth": {**shared, "google": {"client_id": "a"}, "okta": {"client_id": "b"}}},
        {"is_logged_in": False},
    )
    assert [button.label for button in app.button] == ["Log in with google", "Log in with okta"]


def test_whoever_is_logged_in_sees_the_page_and_can_leave():
    app = shell({"auth": AUTH}, ADA)
    assert page_is_open(app)
    told = f"Logged in as {plain('ada@example.org')}"
    assert told in [caption.value for caption in app.main.caption]
    app.button(key="logout").click().run()
    assert not page_is_open(app)


@pytest.mark.parametrize(
    ("user", "people", "is_open"),
    [
        (ADA, ["ada@example.org"], True),
        (ADA, ["bob@example.org"], False),
        (ADA, [], False),
        (UNVERIFIED, ["ada@example.org"], False),
        (UNVERIFIED, ["sub:42"], True),
        ({**UNVERIFIED, "sub": "bob@example.org"}, ["bob@example.org"], False),
        ({**ADA, "email_verified": "false"}, ["ada@example.org"], False),
    ],
)
def test_a_list_of_people_is_kept_to(user, people, is_open):
    assert page_is_open(shell({"auth": AUTH, "access": {"people": people}}, user)) is is_open


@pytest.mark.parametrize(
    "section",
    [
        {"people": "ada@example.org"},
        {"people": ["ada@example.org"], "peple": []},
        {"pople": ["ada@example.org"]},
        {"people": [1]},
        {"email_is_verified": "yes"},
        "ada@example.org",
    ],
    ids=repr,
)
def test_a_list_that_cannot_be_read_lets_nobody_in(section):
    app = shell({"auth": AUTH, "access": section}, ADA)
    assert not page_is_open(app)
    assert [error.value for error in app.error] == [access.BROKEN_ACCESS]


@pytest.mark.parametrize(
    "secrets",
    [
        {"access": {"people": ["ada@example.org"]}},
        {"auth": {}},
        {"auth": {**AUTH, "access": {"people": ["bob@example.org"]}}},
    ],
    ids=repr,
)
def test_a_list_without_a_login_beside_it_lets_nobody_in(secrets):
    app = shell(secrets, ADA)
    assert not page_is_open(app)
    assert [error.value for error in app.error] == [access.NO_LOGIN_GIVEN]


def test_a_provider_that_never_says_verified_can_be_trusted_by_name():
    trusted = {"people": ["ada@example.org"], "email_is_verified": True}
    assert page_is_open(shell({"auth": AUTH, "access": trusted}, UNVERIFIED))


@pytest.mark.parametrize(
    ("user", "name"),
    [
        (ADA, "ada@example.org"),
        ({**ADA, "email_verified": "true"}, "ada@example.org"),
        ({**ADA, "email_verified": False}, "sub:42"),
        ({**ADA, "email_verified": "false"}, "sub:42"),
        (UNVERIFIED, "sub:42"),
        ({"is_logged_in": True, "sub": "42"}, "sub:42"),
        ({"is_logged_in": True}, None),
        ({"is_logged_in": False, "email": "ada@example.org"}, None),
        ({"email": "ada@example.org"}, None),
    ],
)
def test_the_person_in_the_ledger(user, name):
    def script() -> None:
        import streamlit as st

        from ui.session import access

        st.text(str(access.person()))

    app = AppTest.from_function(script)
    app.secrets["auth"] = AUTH
    app.user = user
    assert app.run().text[0].value == str(name)


def test_the_person_needs_a_configured_login():
    def script() -> None:
        import streamlit as st

        from ui.session import access

        st.text(str(access.person()))

    app = AppTest.from_function(script)
    app.user = ADA
    assert app.run().text[0].value == "None"


def test_secrets_that_cannot_be_read_keep_the_door_shut(tmp_path, monkeypatch):
    broken = tmp_path / "secrets.toml"
    broken.write_text("[auth\nredirect_uri = ")
    before = st.get_option
    given = {"secrets.files": [str(broken)]}
    monkeypatch.setattr(access.st, "get_option", lambda name: given.get(name) or before(name))
    app = AppTest.from_file(str(ROOT / "ui" / "shell.py"), default_timeout=60).run()
    assert [error.value for error in app.error] == [access.BROKEN_SECRETS]
    assert not page_is_open(app)


PAGES = sorted(path.stem for path in (ROOT / "pages").glob("*.py"))


@pytest.mark.parametrize("page", PAGES)
def test_no_page_of_a_public_demo_takes_a_table(page, monkeypatch):
    monkeypatch.setenv("DPCI_PUBLIC_DEMO", "1")
    app = shell()
    app.switch_page(str(ROOT / "pages" / f"{page}.py")).run()
    for choice in app.selectbox:
        if choice.key == "dataset":
            choice.set_value("upload").run()
            assert any("switched off" in info.value for info in app.info)
    assert not app.exception
    assert {uploader.key for uploader in app.file_uploader} <= {
        "open_result"
    }  # a result of our own, no table


def release_page() -> None:
    import streamlit as st

    from ui.session import access

    if not access.is_off("Release"):
        st.text("open")


def is_released_from(monkeypatch, secrets=None, headers=None, address="127.0.0.1") -> bool:
    before = st.get_option
    monkeypatch.setattr(
        access.st, "get_option", lambda name: address if name == "server.address" else before(name)
    )
    monkeypatch.setattr(type(access.st.context), "headers", property(lambda _: headers or {}))
    app = AppTest.from_function(release_page)
    for name, section in (secrets or {}).items():
        app.secrets[name] = section
    app.run()
    is_open = [text.value for text in app.text] == ["open"]
    assert is_open or "Release is switched off" in app.info[0].value
    return is_open


@pytest.mark.parametrize(
    ("value", "is_demo"),
    [(None, False), ("", False), ("0", False), ("no", False), ("Off", False)]
    + [(yes, True) for yes in ("1", "true", "yes", "on", "TRUE", "1 ", "anything")],
)
def test_one_question_for_the_pages_that_spend(value, is_demo, monkeypatch):
    if value is None:
        monkeypatch.delenv("DPCI_PUBLIC_DEMO", raising=False)
    else:
        monkeypatch.setenv("DPCI_PUBLIC_DEMO", value)
    assert quota.is_public_demo() is is_demo
    assert is_released_from(monkeypatch) is not is_demo


@pytest.mark.parametrize(
    ("headers", "address", "is_open"),
    [
        ({"Host": "localhost:8501"}, "127.0.0.1", True),
        ({"Host": "[::1]:8501"}, "::1", True),
        ({"Host": "localhost:8501"}, "0.0.0.0", False),
        ({"Host": "localhost:8501"}, None, False),
        ({"Host": "example.org"}, "127.0.0.1", False),
        ({"Host": "127.evil.example"}, "127.0.0.1", False),
        ({"Host": "localhost", "X-Forwarded-For": "203.0.113.9"}, "127.0.0.1", False),
    ],
)
def test_whoever_reaches_the_port_does_not_spend(headers, address, is_open, monkeypatch):
    assert is_released_from(monkeypatch, None, headers, address) is is_open
    assert is_released_from(monkeypatch, {"auth": AUTH}, headers, address)
    monkeypatch.setenv("DPCI_OPEN_TO_ALL", "yes")
    assert is_released_from(monkeypatch, None, headers, address)
    monkeypatch.setenv("DPCI_OPEN_TO_ALL", "maybe")
    assert is_released_from(monkeypatch, None, headers, address) is is_open
