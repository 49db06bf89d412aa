// An application that signs in with go-oidc, by its documentation.
package main

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"log"
	"net/http"
	"net/url"
	"os"
	"sync"

	oidc "github.com/coreos/go-oidc"
	"golang.org/x/oauth2"
)

type session struct {
	state, nonce, codeVerifier string
	token                      *oauth2.Token
}

var (
	lock     sync.Mutex
	sessions = map[string]*session{}
)

func random() string {
	bytes := make([]byte, 32)
	if _, err := rand.Read(bytes); err != nil {
		log.Fatal(err)
	}
	return base64.RawURLEncoding.EncodeToString(bytes)
}

func open(response http.ResponseWriter, request *http.Request) *session {
	lock.Lock()
	defer lock.Unlock()
	if cookie, err := request.Cookie("helpdesk"); err == nil && sessions[cookie.Value] != nil {
		return sessions[cookie.Value]
	}
	id := random()
	sessions[id] = &session{}
	http.SetCookie(response, &http.Cookie{Name: "helpdesk", Value: id, HttpOnly: true, SameSite: http.SameSiteLaxMode, Path: "/"})
	return sessions[id]
}

func main() {
	ctx := context.Background()
	baseURL := os.Getenv("BASE_URL")
	provider, err := oidc.NewProvider(ctx, os.Getenv("ISSUER"))
	if err != nil {
		log.Fatal(err)
	}
	var metadata struct {
		EndSessionEndpoint string `json:"end_session_endpoint"`
	}
	if err := provider.Claims(&metadata); err != nil {
		log.Fatal(err)
	}
	config := oauth2.Config{
		ClientID:     os.Getenv("CLIENT_ID"),
		ClientSecret: os.Getenv("CLIENT_SECRET"),
		Endpoint:     provider.Endpoint(),
		RedirectURL:  baseURL + "/callback",
		Scopes:       []string{oidc.ScopeOpenID, "email", "profile"},
	}
	verifier := provider.Verifier(&oidc.Config{ClientID: config.ClientID})
	answer := func(response http.ResponseWriter, body interface{}) {
		response.Header().Set("Content-Type", "application/json")
		json.NewEncoder(response).Encode(body)
	}

	http.HandleFunc("/", func(response http.ResponseWriter, _ *http.Request) {
		response.Header().Set("Content-Type", "text/html")
		response.Write([]byte("<!doctype html><html lang=en><title>Helpdesk</title><h1>Helpdesk</h1>"))
	})
	http.HandleFunc("/login", func(response http.ResponseWriter, request *http.Request) {
		current := open(response, request)
		current.state, current.nonce, current.codeVerifier = random(), random(), random()
		challenge := sha256.Sum256([]byte(current.codeVerifier))
		http.Redirect(response, request, config.AuthCodeURL(
			current.state,
			oidc.Nonce(current.nonce),
			oauth2.SetAuthURLParam("code_challenge", base64.RawURLEncoding.EncodeToString(challenge[:])),
			oauth2.SetAuthURLParam("code_challenge_method", "S256"),
		), http.StatusFound)
	})
	http.HandleFunc("/callback", func(response http.ResponseWriter, request *http.Request) {
		current := open(response, request)
		query := request.URL.Query()
		if query.Get("state") != current.state {
			http.Error(response, "Error: another state", http.StatusBadRequest)
			return
		}
		token, err := config.Exchange(ctx, query.Get("code"), oauth2.SetAuthURLParam("code_verifier", current.codeVerifier))
		if err != nil {
			http.Error(response, "Error: "+err.Error(), http.StatusInternalServerError)
			return
		}
		idToken, _ := token.Extra("id_token").(string)
		verified, err := verifier.Verify(ctx, idToken)
		if err != nil || verified.Nonce != current.nonce || verified.VerifyAccessToken(token.AccessToken) != nil {
			http.Error(response, "Error: the ID token is wrong", http.StatusInternalServerError)
			return
		}
		current.token = token
		http.Redirect(response, request, "/user", http.StatusFound)
	})
	http.HandleFunc("/user", func(response http.ResponseWriter, request *http.Request) {
		current := open(response, request)
		if current.token == nil {
			answer(response, struct{}{})
			return
		}
		user, err := provider.UserInfo(ctx, oauth2.StaticTokenSource(current.token))
		if err != nil {
			http.Error(response, "Error: "+err.Error(), http.StatusInternalServerError)
			return
		}
		answer(response, map[string]string{"email": user.Email})
	})
	http.HandleFunc("/refresh", func(response http.ResponseWriter, request *http.Request) {
		current := open(response, request)
		// Without an access token, the source asks for a new one.
		fresh, err := config.TokenSource(ctx, &oauth2.Token{RefreshToken: current.token.RefreshToken}).Token()
		if err != nil {
			http.Error(response, "Error: "+err.Error(), http.StatusInternalServerError)
			return
		}
		idToken := current.token.Extra("id_token")
		current.token = fresh.WithExtra(map[string]interface{}{"id_token": idToken})
		answer(response, map[string]string{"access_token": fresh.AccessToken})
	})
	http.HandleFunc("/logout", func(response http.ResponseWriter, request *http.Request) {
		current := open(response, request)
		idToken, _ := current.token.Extra("id_token").(string)
		current.token = nil
		hint := url.Values{"id_token_hint": {idToken}, "post_logout_redirect_uri": {baseURL}}
		http.Redirect(response, request, metadata.EndSessionEndpoint+"?"+hint.Encode(), http.StatusFound)
	})
	log.Fatal(http.ListenAndServe("127.0.0.1:"+os.Getenv("PORT"), nil))
}
