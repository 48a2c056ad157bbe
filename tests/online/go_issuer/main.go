// An issuer of OpenID Connect with a device flow: Zitadel's, which the OpenID Foundation certified, with its own example of accounts.
//
// It prints its port, and serves until its standard input ends.  Its one client is public, and everybody is in the groups lab and staff.
package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"

	"github.com/zitadel/oidc/v3/example/server/exampleop"
	"github.com/zitadel/oidc/v3/example/server/storage"
	"github.com/zitadel/oidc/v3/pkg/oidc"
	"github.com/zitadel/oidc/v3/pkg/op"
)

type public struct{ *storage.Client }

func (public) GrantTypes() []oidc.GrantType { return []oidc.GrantType{oidc.GrantTypeDeviceCode} }

type company struct{ *storage.Storage }

func (c company) GetClientByClientID(_ context.Context, id string) (op.Client, error) {
	if id != "tinkbox" {
		return nil, fmt.Errorf("no client %q", id)
	}
	return public{storage.NativeClient(id)}, nil
}

func (c company) SetUserinfoFromRequest(ctx context.Context, found *oidc.UserInfo, asked op.IDTokenRequest, scopes []string) error {
	found.AppendClaims("groups", []string{"lab", "staff"})
	return c.Storage.SetUserinfoFromRequest(ctx, found, asked, scopes)
}

func main() {
	users, err := storage.StoreFromFile(os.Args[1])
	if err != nil {
		panic(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	port := listener.Addr().(*net.TCPAddr).Port
	logger := slog.New(slog.NewTextHandler(os.Stderr, nil))
	issuer := fmt.Sprintf("http://localhost:%d/", port)
	storage.RegisterClients(storage.NativeClient("tinkbox"))
	router := exampleop.SetupServer(issuer, company{storage.NewStorage(users)}, logger, false)
	fmt.Println(port)
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	panic(http.Serve(listener, router))
}
