// Package tlsnode has a node that accepts TLS connections and answers nothing. It is for tests of how clients connect.
package tlsnode

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/redlockfx/redlockfx/internal/testkit/want"
)

// Node requires a client certificate. Its own certificate is for 127.0.0.1 and example.com, and self-signed.
type Node struct {
	Addr        string
	Certificate tls.Certificate
	Attempts    <-chan Attempt
}

// Attempt is a connection that a client has tried to make.
type Attempt struct {
	Name string // the server name that the client asked for; empty for an address
	Err  error  // why there is no connection
}

// Start starts a node that stops with the test.
func Start(t testing.TB) *Node {
	t.Helper()
	https := httptest.NewTLSServer(nil)
	certificate := https.TLS.Certificates[0]
	https.Close()
	listener, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{
		Certificates: []tls.Certificate{certificate}, ClientAuth: tls.RequireAnyClientCert,
	})
	want.NoError(t, err)
	attempts, stopped := make(chan Attempt, 100), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			conn := c.(*tls.Conn)
			_ = conn.SetDeadline(time.Now().Add(5 * time.Second)) // of a test
			err = conn.Handshake()
			attempts <- Attempt{conn.ConnectionState().ServerName, err}
			_ = conn.Close()
		}
	}()
	t.Cleanup(func() {
		_ = listener.Close()
		<-stopped
	})
	return &Node{listener.Addr().String(), certificate, attempts}
}

// Roots returns a pool with the node's own certificate.
func (n *Node) Roots() *x509.CertPool {
	roots := x509.NewCertPool()
	roots.AddCert(n.Certificate.Leaf)
	return roots
}

// Files writes the certificate and its key into files.
func (n *Node) Files(t testing.TB) (cert, key string) {
	t.Helper()
	der, err := x509.MarshalPKCS8PrivateKey(n.Certificate.PrivateKey)
	want.NoError(t, err)
	dir := t.TempDir()
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	for path, block := range map[string]*pem.Block{
		cert: {Type: "CERTIFICATE", Bytes: n.Certificate.Certificate[0]}, key: {Type: "PRIVATE KEY", Bytes: der},
	} {
		want.NoError(t, os.WriteFile(path, pem.EncodeToMemory(block), 0o600))
	}
	return cert, key
}
