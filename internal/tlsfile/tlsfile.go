// Package tlsfile reads certificates from files and reports problems immediately.
package tlsfile

import (
	"bytes"
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"

	"github.com/redlockfx/redlockfx/internal/plain"
)

// CAs returns the certificates in a PEM file.
func CAs(file string) (*x509.CertPool, error) {
	pem, err := read(file)
	if err != nil {
		return nil, err
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
	load := func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
		certPEM, certErr := read(cert)
		keyPEM, keyErr := read(key)
		pair, err := tls.X509KeyPair(certPEM, keyPEM)
		if err = cmp.Or(certErr, keyErr, err); err != nil {
			return nil, fmt.Errorf("%s: %w", what, err)
		}
		return &pair, nil
	}
	_, err := load(nil)
	return load, err
}

// read returns a file without the mark that editors put before UTF-8. With the mark, the first certificate would be skipped.
func read(file string) ([]byte, error) {
	pem, err := os.ReadFile(file)
	return bytes.TrimPrefix(pem, []byte("\ufeff")), plain.FileError(err)
}
