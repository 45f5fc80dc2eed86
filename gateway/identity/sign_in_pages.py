"""The pages of sign-in: plain HTML that works without script, and loads nothing from elsewhere."""

from html import escape
from typing import Final

from coterie.gateway.identity.sign_in_failures import SignInFailure

POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; form-action 'self'; "
    "frame-ancestors 'none'; base-uri 'none'; require-trusted-types-for 'script'; "
    "trusted-types 'none'"
)
HEADERS: Final = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": POLICY,
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}
STYLE: Final = """\
:root { color-scheme: light dark; font: 1rem/1.5 system-ui, sans-serif; }
body { margin: 0; min-height: 100vh; display: grid; place-items: center;
  background: light-dark(#f6f7f9, #14171c); color: light-dark(#1b1f27, #e8eaee); }
main { box-sizing: border-box; width: min(28rem, 100%); padding: 2rem; }
h1 { font-size: 1.4rem; margin: 0 0 1rem; }
label { display: block; margin-bottom: .25rem; }
input { box-sizing: border-box; width: 100%; padding: .5rem; font: inherit; }
button, .action { display: inline-block; margin-top: 1rem; padding: .5rem 1rem; font: inherit;
  border: 0; border-radius: .4rem; background: light-dark(#1d4ed8, #3b6cf6); color: #fff;
  text-decoration: none; cursor: pointer; }
:focus-visible { outline: 3px solid light-dark(#93b4ff, #a9c1ff); outline-offset: 2px; }
code { overflow-wrap: anywhere; }
"""
OPEN_SCRIPT: Final = """\
// The code stands in the fragment, which browsers send to nobody: this page posts it.
function post() {
  const code = location.hash.slice(1);
  if (!code) return;
  history.replaceState(null, "", location.pathname + location.search);
  const form = document.querySelector("form");
  form.elements.namedItem("code").value = code;
  form.submit();
}
addEventListener("hashchange", post);
post();
"""


def page(title: str, body: str, *, script: bool = False) -> str:
    """Return a page; the body is HTML."""
    tag = '<script type="module" src="/open.js"></script>' if script else ""
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)} - Coterie</title>"
        '<link rel="icon" href="data:,"><link rel="stylesheet" href="/sign-in.css">'
        f"{tag}</head><body><main><h1>{escape(title)}</h1>{body}</main></body></html>"
    )


def open_page(target: str) -> str:
    """Return the page of a one-time link."""
    return page(
        "Sign in",
        '<form method="post" action="/sign-in/code">'
        f'<input type="hidden" name="to" value="{escape(target)}">'
        '<label for="code">Code of the link, after #</label>'
        '<input id="code" name="code" required autocomplete="off" spellcheck="false">'
        "<button>Sign in</button></form>",
        script=True,
    )


def link_page() -> str:
    """Return the page for who has no session on a machine with one-time links."""
    return page(
        "Sign in",
        "<p>Open the link that <code>coterie serve</code> printed. It works once, within ten "
        "minutes.</p><p>For a new link, start <code>coterie serve</code> again.</p>",
    )


def signed_out_page(provider: str | None) -> str:
    """Return the page after sign-out; with the provider's address, it continues there."""
    if provider is None:
        return page(
            "Signed out",
            '<p>You are signed out.</p><a class="action" href="/sign-in">Sign in again</a>',
        )
    return page(
        "Signed out",
        "<p>You are signed out of Coterie. Sign out of your sign-in provider as well:</p>"
        f'<a class="action" href="{escape(provider)}">Continue</a>',
    )


def failure_page(failure: SignInFailure) -> str:
    """Return the page of a refused request."""
    return page(
        "Not signed in",
        f"<p>{escape(failure.message[:1].upper() + failure.message[1:])}.</p>"
        f"<p>{escape(failure.fix)}</p>"
        '<a class="action" href="/sign-in">Sign in</a>'
        f"<p><small>Code: {escape(failure.code)}</small></p>",
    )
