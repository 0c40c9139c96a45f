package main

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
)

// secure returns what the TLS files come to, or nil if none is given: then rediss:// URLs trust the CAs of the system.
func (p *program) secure() (*tls.Config, error) {
	ca, cert, key := or(p.tlsCA, tlsCAVariable), or(p.tlsCert, tlsCertVariable), or(p.tlsKey, tlsKeyVariable)
	if ca+cert+key == "" {
		return nil, nil
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	var problems []error
	if ca != "" {
		pem, err := os.ReadFile(ca)
		config.RootCAs = x509.NewCertPool()
		if err == nil && !config.RootCAs.AppendCertsFromPEM(pem) {
			err = fmt.Errorf("%s has no certificate in PEM", ca)
		}
		if err != nil {
			problems = append(problems, fmt.Errorf("--tls-ca: %w", err))
		}
	}
	switch {
	case cert == "" && key == "":
	case cert == "" || key == "":
		problems = append(problems, errors.New("--tls-cert and --tls-key are needed together: the client certificate and its key"))
	default:
		read := func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { // for each connection: certificates are renewed
			pair, err := tls.LoadX509KeyPair(cert, key)
			if err != nil {
				return nil, fmt.Errorf("--tls-cert, --tls-key: %w", err)
			}
			return &pair, nil
		}
		if _, err := read(nil); err != nil {
			problems = append(problems, err)
		}
		config.GetClientCertificate = read
	}
	return config, errors.Join(problems...)
}
