"""The audit log knows who signed in and out, and what was refused."""

from coterie.workflows.core.audit_messages import AuditRecord
from tests.unit.gateway.identity.conftest import Gateway
from tests.unit.gateway.identity.test_local_sign_in import OWN, code_of, session_of, use


def noted(gateway: Gateway) -> list[AuditRecord]:
    batch = gateway.gate.audit.take()
    return [] if batch is None else list(batch.records)


async def test_a_local_sign_in_a_used_link_and_a_sign_out_are_noted(local: Gateway) -> None:
    code = code_of(local)
    done = await use(local, code)
    await use(local, code)
    await local.browser.post("/sign-out", headers={**session_of(done), **OWN})
    await local.browser.post("/sign-out", headers={"Sec-Fetch-Site": "cross-site"})
    records = {(one.act, one.code, one.about): one for one in noted(local)}
    assert set(records) == {
        ("signed in", "", ""),
        ("refused", "old_link", "/sign-in/code"),
        ("signed out", "", ""),
        ("refused", "other_origin", "request"),
    }
    who = records["signed in", "", ""]
    assert (who.subject, who.method, who.door) == ("local user ann", "local", "console")
    assert who.address
    assert all(code not in one.model_dump_json() for one in records.values())


async def test_a_person_of_a_provider_is_noted_with_subject_and_deciding_name(
    gateway: Gateway,
) -> None:
    gateway.provider.claims |= {"email": "ann@example.com", "email_verified": True}
    assert (await gateway.sign_in()).status_code == 303
    (who,) = noted(gateway)
    assert (who.act, who.method) == ("signed in", "oidc")
    assert (who.subject, who.name) == ("7", "ann@example.com")


async def test_a_token_that_is_refused_is_noted_without_the_token(local: Gateway) -> None:
    await local.browser.get("/who", headers={"Authorization": "Bearer coterie_secret"})
    (refused,) = noted(local)
    assert (refused.act, refused.code) == ("refused", "token_invalid")
    assert "secret" not in refused.model_dump_json()
