"""Who may see the pages, and what a demo open to strangers leaves out.

Without `[auth]` among Streamlit's secrets there is no login and nothing here changes a page. See
docs/operations.md.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import streamlit as st

from ui.kit.streamlit_internals import get_script_run_ctx, runtime
from ui.session import quota
from ui.session.text import plain

BROKEN_SECRETS = (
    "The file with this dashboard's secrets cannot be read, so it is not known who may log in. "
    "Whoever runs the dashboard has to mend it."
)
BROKEN_ACCESS = (
    "The section [access] of this dashboard's secrets cannot be read, so it is not known who may "
    "come in. Whoever runs the dashboard has to mend it: `people` is a list of texts, "
    "`email_is_verified` is true or false, and there is nothing else."
)
NO_LOGIN_GIVEN = (
    "This dashboard's secrets say who may come in, but not how to log in. Whoever runs the "
    "dashboard has to mend it: [auth] is not empty, and [access] stands beside it, not in it."
)
NOT_ON_THE_LIST = "This account is not on the list of people who may use this dashboard."
SUBJECT = "sub:"
"""Before the provider's own identifier, so that it cannot pass for an address."""


def person() -> str | None:
    """Who is logged in, as the ledger writes it; None where there is no login.

    The e-mail address, if the provider says that it was verified, or `[access]` says that it always
    is; otherwise "sub:" and the provider's own identifier.
    """
    if not (_section("auth") and st.user.get("is_logged_in")):
        return None
    is_verified = st.user.get("email_verified") in (True, "true") or (
        _section("access").get("email_is_verified") is True
    )
    if is_verified and (email := st.user.get("email")):
        return str(email)
    return f"{SUBJECT}{sub}" if (sub := st.user.get("sub")) else None


def require_login() -> None:
    """Stop the page with a button to log in, if login is configured and nobody is; otherwise do
    nothing.
    """
    if _is_broken():
        st.error(BROKEN_SECRETS)
        st.stop()
    auth = _section("auth")
    if _is_door_missing():
        st.error(NO_LOGIN_GIVEN)
        st.stop()
    if not auth:
        _may_upload()
        return
    if not _is_access_clear():
        st.error(BROKEN_ACCESS)
        st.stop()
    who = person()
    if who is None:
        st.title("Private confidence intervals")
        for provider in _providers(auth):
            label = "Log in" if provider is None else f"Log in with {provider}"
            st.button(
                label,
                on_click=st.login,
                args=(provider,) if provider else (),
                key=f"login_{provider}",
            )
        st.stop()
    people = _section("access").get("people")
    if people is not None and who not in people:
        st.error(NOT_ON_THE_LIST)
        st.button("Log out", on_click=st.logout, key="logout")
        st.stop()
    _may_upload()


def is_shut() -> bool:
    """Whether `require_login` would stop whoever is here. What a click does is done before the page
    runs and asks: on a page that is still open somebody may have logged out, or left the list.
    """
    if _is_broken() or _is_door_missing():
        return True
    if not _section("auth"):
        return False
    who, people = person(), _section("access").get("people")
    return not _is_access_clear() or who is None or (people is not None and who not in people)


def leave() -> None:
    """Who is logged in, with a way out; nothing where nobody has to be."""
    if (who := person()) is not None:
        st.caption(f"Logged in as {plain(who)}")
        st.button("Log out", on_click=st.logout, key="logout")


def is_off(page: str) -> bool:
    """Whether a page that spends or keeps a budget is switched off here; if so, it says why.

    On a public demo: a host with a temporary disk would forget what was spent. And where others can
    reach the port but nobody has to log in, unless whoever runs the dashboard says that everyone
    may spend.
    """
    if has_ledger():
        return False
    if quota.is_public_demo():
        st.info(
            f"{page} is switched off on this public demo: the machine it runs on may be wiped at "
            "any time and would forget what was spent. Run the dashboard on your own machine."
        )
        return True
    st.info(
        f"{page} is switched off here: this dashboard can be reached from other machines and asks "
        "nobody to log in, so anybody could spend the privacy budget. Whoever runs it sets up a "
        "login, lets it answer 127.0.0.1 only, or says `DPCI_OPEN_TO_ALL=yes`."
    )
    return True


def has_ledger() -> bool:
    """Whether pages may ask the ledger here."""
    may = not quota.is_public_demo()
    return may and bool(_section("auth") or quota.is_open_to_all() or _is_local())


def _is_local() -> bool:
    """Whether only this machine can have asked for this page."""
    headers = st.context.headers
    name = quota.host_name(headers.get("Host") or "localhost")
    is_passed_on = any(given.lower() in _FORWARDED for given in headers)
    bound = str(st.get_option("server.address") or "")
    return quota.is_loopback(bound) and quota.is_loopback(name) and not is_passed_on


_FORWARDED = ("forwarded", "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto", "x-real-ip")
"""What a proxy in front adds."""


def _is_door_missing() -> bool:
    """Whether the secrets want a login that nobody could be asked for."""
    given = st.secrets if st.secrets.load_if_toml_exists() else {}
    auth = given.get("auth", {})
    return ("auth" in given or "access" in given) and (not auth or "access" in auth)


def _is_access_clear() -> bool:
    given = _section("access")
    if not isinstance(given, Mapping) or set(given) - {"people", "email_is_verified"}:
        return False
    people = given.get("people", [])
    return (
        isinstance(people, Sequence)
        and not isinstance(people, str)
        and all(isinstance(name, str) for name in people)
        and isinstance(given.get("email_is_verified", False), bool)
    )


def _may_upload() -> None:
    """Let this session upload."""
    if (running := get_script_run_ctx()) is not None and runtime.exists():
        quota.UPLOADERS.allow(running.session_id)


def _section(name: str) -> Mapping[str, Any]:
    """A section of the secrets; empty where there is none."""
    return st.secrets.get(name, {}) if st.secrets.load_if_toml_exists() else {}


def _is_broken() -> bool:
    """Whether there are secrets that cannot be read: they may ask for a login, so the pages stay
    shut.
    """
    return not st.secrets.load_if_toml_exists() and any(
        Path(path).exists() for path in st.get_option("secrets.files")
    )


def _providers(auth: Mapping[str, Any]) -> list[str | None]:
    """Names of the providers; None stands for one configured in `[auth]` itself."""
    named: list[str | None] = [
        name for name, section in auth.items() if isinstance(section, Mapping)
    ]
    return [None, *named] if "client_id" in auth else named
