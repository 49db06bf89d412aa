"""An application of Flask that signs in with Authlib, by its documentation."""

import os
from urllib.parse import urlencode

from authlib.integrations.flask_client import OAuth
from authlib.integrations.requests_client import OAuth2Session
from flask import Flask, redirect, session

base_url = os.environ["BASE_URL"]
client_id, client_secret = os.environ["CLIENT_ID"], os.environ["CLIENT_SECRET"]
app = Flask(__name__)
app.secret_key = os.urandom(32)
oauth = OAuth(app)
service = oauth.register(
    "service",
    client_id=client_id,
    client_secret=client_secret,
    server_metadata_url=os.environ["ISSUER"] + "/.well-known/openid-configuration",
    client_kwargs={"scope": "openid email profile", "code_challenge_method": "S256"},
)
# A cookie has no room for them.
tokens = {}


@app.route("/")
def home():
    return "<!doctype html><html lang=en><title>Helpdesk</title><h1>Helpdesk</h1>"


@app.route("/login")
def login():
    return service.authorize_redirect(base_url + "/callback")


@app.route("/callback")
def callback():
    token = service.authorize_access_token()
    session["sub"] = token["userinfo"]["sub"]
    tokens[session["sub"]] = token
    return redirect("/user")


@app.route("/user")
def user():
    token = tokens.get(session.get("sub"))
    return {} if token is None else dict(service.userinfo(token=token))


@app.route("/refresh")
def refresh():
    token = tokens[session["sub"]]
    metadata = service.load_server_metadata()
    with OAuth2Session(client_id, client_secret, token=token) as client:
        fresh = client.refresh_token(metadata["token_endpoint"], token["refresh_token"])
    tokens[session["sub"]] = {**token, **fresh}
    return {"access_token": fresh["access_token"]}


@app.route("/logout")
def logout():
    token = tokens.pop(session.pop("sub"))
    hint = {"id_token_hint": token["id_token"], "post_logout_redirect_uri": base_url}
    return redirect(service.load_server_metadata()["end_session_endpoint"] + "?" + urlencode(hint))


app.run(host="127.0.0.1", port=int(os.environ["PORT"]))
