"""Runs Authlib and PyJWT against identity. Arguments: issuer, audience, e-mail, password. Prints the outcomes as JSON."""

import json
import sys
import time

import authlib
import jwt
import requests
from authlib.integrations.requests_client import OAuth2Session
from authlib.jose import JsonWebKey
from authlib.jose import jwt as authlib_jwt
from authlib.oidc.discovery import get_well_known_url

issuer, audience, email, password = sys.argv[1:]
outcomes = []


def step(client, name, *attempts):
    """Records the first attempt that works, and the error of the last one that failed."""
    outcome = {"client": client, "step": name}
    for line, run in attempts:
        try:
            run()
            if line:
                outcome["line"] = line
            break
        except Exception as error:
            outcome["error"] = repr(error)
    outcomes.append(outcome)


def discover():
    metadata = requests.get(get_well_known_url(issuer, external=True)).json()
    assert metadata["issuer"] == issuer
    return metadata


def sign_in():
    session = OAuth2Session("any-client")
    return session.fetch_token(metadata["token_endpoint"], username=email, password=password)


def accepts_only_access_tokens(verify):
    def run():
        token = sign_in()
        assert verify(token["access_token"])["type"] == "access"
        try:
            verify(token["refresh_token"])
        except Exception:
            return
        raise AssertionError("accepts a refresh token")

    return run


def expired_session():
    token = {**sign_in(), "expires_at": int(time.time()) - 1}
    return OAuth2Session("any-client", token=token, token_endpoint=metadata["token_endpoint"])


def use(session):
    """The session refreshes its expired token before the request."""
    used = session.token["refresh_token"]
    assert session.get(metadata["userinfo_endpoint"]).status_code == 200
    assert session.token["refresh_token"] != used


def refresh_with_line():
    session = expired_session()
    session.metadata["token_endpoint"] = f"{issuer}/token/refresh"
    use(session)


def verify_with_authlib(token):
    keys = JsonWebKey.import_key_set(requests.get(metadata["jwks_uri"]).json())
    options = {"iss": {"essential": True, "value": issuer}, "aud": {"essential": True, "value": audience}}
    claims = authlib_jwt.decode(token, keys, claims_options=options)
    claims.validate()
    return claims


def verify_with_pyjwt(token):
    key = jwt.PyJWKClient(metadata["jwks_uri"]).get_signing_key_from_jwt(token).key
    return jwt.decode(token, key, algorithms=["RS256"], audience=audience, issuer=issuer)


metadata = discover()
own = f"Authlib {authlib.__version__}"
step(own, "discovery", ("", discover))
step(own, "signIn", ("", sign_in))
step(
    own,
    "refresh",
    ("", lambda: use(expired_session())),
    ('session.metadata["token_endpoint"] = f"{issuer}/token/refresh"', refresh_with_line),
)
step(own, "verification", ("", accepts_only_access_tokens(verify_with_authlib)))
step(f"PyJWT {jwt.__version__}", "verification", ("", accepts_only_access_tokens(verify_with_pyjwt)))
print(json.dumps(outcomes))
