// Package tlsfile reads certificates from files and reports problems immediately.
package tlsfile

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"

	"github.com/redlockfx/redlockfx/internal/plain"
)

// CAs returns the certificates in a PEM file.
func CAs(file string) (*x509.CertPool, error) {
	pem, err := os.ReadFile(file)
	if err != nil {
		return nil, plain.FileError(err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("%s has no certificate in PEM", file)
	}
	return pool, nil
}

// ClientCertificate returns a function for [tls.Config.GetClientCertificate]. It reads the files once immediately, to
// check them, and again for each connection, because certificates are renewed. what starts each error.
func ClientCertificate(cert, key, what string) (func(*tls.CertificateRequestInfo) (*tls.Certificate, error), error) {
	read := func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
		pair, err := tls.LoadX509KeyPair(cert, key)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", what, plain.FileError(err))
		}
		return &pair, nil
	}
	_, err := read(nil)
	return read, err
}
