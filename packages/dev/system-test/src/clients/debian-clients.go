// Runs go-oidc and x/oauth2 against identity. Arguments: issuer, audience, e-mail, password. Prints the outcomes as JSON.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"time"

	"github.com/coreos/go-oidc"
	"golang.org/x/oauth2"
)

type outcome struct {
	Client string `json:"client"`
	Step   string `json:"step"`
	Line   string `json:"line,omitempty"`
	Error  string `json:"error,omitempty"`
}

type attempt struct {
	line string
	run  func() error
}

const client = "go-oidc 2, x/oauth2"

// Returns the first attempt that works, and the error of the last one that failed.
func step(name string, attempts ...attempt) outcome {
	result := outcome{Client: client, Step: name}
	for _, attempt := range attempts {
		err := attempt.run()
		if err == nil {
			result.Line = attempt.line
			return result
		}
		result.Error = err.Error()
	}
	return result
}

func main() {
	issuer, audience, email, password := os.Args[1], os.Args[2], os.Args[3], os.Args[4]
	ctx := context.Background()

	configure := func() (*oidc.Provider, *oauth2.Config, error) {
		provider, err := oidc.NewProvider(ctx, issuer)
		if err != nil {
			return nil, nil, err
		}
		return provider, &oauth2.Config{ClientID: "any-client", Endpoint: provider.Endpoint()}, nil
	}
	signIn := func() (*oidc.Provider, *oauth2.Config, *oauth2.Token, error) {
		provider, config, err := configure()
		if err != nil {
			return nil, nil, nil, err
		}
		token, err := config.PasswordCredentialsToken(ctx, email, password)
		return provider, config, token, err
	}
	// The token source refreshes the expired token.
	refresh := func(prepare func(config *oauth2.Config)) error {
		_, config, token, err := signIn()
		if err != nil {
			return err
		}
		prepare(config)
		token.Expiry = time.Now().Add(-time.Minute)
		fresh, err := config.TokenSource(ctx, token).Token()
		if err == nil && fresh.RefreshToken == token.RefreshToken {
			return errors.New("the refresh token was not rotated")
		}
		return err
	}

	json.NewEncoder(os.Stdout).Encode([]outcome{
		step("discovery", attempt{"", func() error {
			_, _, err := configure()
			return err
		}}),
		step("signIn", attempt{"", func() error {
			_, _, _, err := signIn()
			return err
		}}),
		step("refresh",
			attempt{"", func() error { return refresh(func(*oauth2.Config) {}) }},
			attempt{`config.Endpoint.TokenURL = issuer + "/token/refresh"`, func() error {
				return refresh(func(config *oauth2.Config) {
					config.Endpoint.TokenURL = issuer + "/token/refresh"
				})
			}}),
		step("verification", attempt{"", func() error {
			provider, _, token, err := signIn()
			if err != nil {
				return err
			}
			verifier := provider.Verifier(&oidc.Config{ClientID: audience})
			if _, err := verifier.Verify(ctx, token.AccessToken); err != nil {
				return err
			}
			if _, err := verifier.Verify(ctx, token.RefreshToken); err == nil {
				return errors.New("accepts a refresh token")
			}
			return nil
		}}),
	})
}
