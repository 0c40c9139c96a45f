// Package tlsfile reads certificates from files, and says at once what is wrong with them.
package tlsfile

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
)

// CAs returns the certificates in a file of PEM.
func CAs(file string) (*x509.CertPool, error) {
	pem, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("%s has no certificate in PEM", file)
	}
	return pool, nil
}

// ClientCertificate returns what [tls.Config.GetClientCertificate] is to be. The files are read again for each connection, as
// certificates are renewed, and now, to see whether they can be. what is said before each error.
func ClientCertificate(cert, key, what string) (func(*tls.CertificateRequestInfo) (*tls.Certificate, error), error) {
	read := func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
		pair, err := tls.LoadX509KeyPair(cert, key)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", what, err)
		}
		return &pair, nil
	}
	_, err := read(nil)
	return read, err
}
