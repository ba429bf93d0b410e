"""Who may see the pages, and what a demo open to strangers leaves out.

Without `[auth]` among Streamlit's secrets there is no login and nothing here changes a page. See
docs/deployment.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import streamlit as st

from ui.session import state

BROKEN_SECRETS = (
    "The file with this dashboard's secrets cannot be read, so it is not known who may log in. "
    "Whoever runs the dashboard has to mend it."
)
NOT_ON_THE_LIST = "This account is not on the list of people who may use this dashboard."


def person() -> str | None:
    """Who is logged in, as the ledger writes it; None where there is no login.

    The e-mail address, unless the provider says that it was never verified; otherwise the
    provider's own identifier.
    """
    if not (_section("auth") and st.user.get("is_logged_in")):
        return None
    name = st.user.get("email") if st.user.get("email_verified", True) else None
    return str(name or st.user.get("sub") or "") or None


def require_login() -> None:
    """Stop the page with a button to log in, if login is configured and nobody is; otherwise do
    nothing.
    """
    if _is_broken():
        st.error(BROKEN_SECRETS)
        st.stop()
    auth = _section("auth")
    if not auth:
        return
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


def leave() -> None:
    """Who is logged in, with a way out; nothing where nobody has to be."""
    if (who := person()) is not None:
        st.caption(f"Logged in as {who}")
        st.button("Log out", on_click=st.logout, key="logout")


def off_on_public_demo(page: str) -> bool:
    """Whether this is a demo open to strangers; if so, says on the page that `page` is switched off
    there.

    For the pages that spend or keep a budget: a host with a temporary disk would forget what was
    spent.
    """
    if state.is_public_demo():
        st.info(
            f"{page} is switched off on this public demo: the machine it runs on may be wiped at "
            "any time and would forget what was spent. Run the dashboard on your own machine."
        )
        return True
    return False


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
