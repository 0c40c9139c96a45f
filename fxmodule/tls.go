package redlockfx

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
)

// tls returns what the TLS fields say, or nil if none is set. It reads all files, so that a wrong one is an error at start.
func (c Config) tls() (*tls.Config, error) {
	if c.TLSCAFile+c.TLSCertFile+c.TLSKeyFile+c.TLSServerName == "" {
		return nil, nil
	}
	secure := &tls.Config{ServerName: c.TLSServerName, MinVersion: tls.VersionTLS12}
	var problems []error
	if len(c.Nodes) == 0 {
		problems = append(problems, errors.New("redlockfx: config: the TLS fields are for Config.Nodes: clients that come "+
			"through Node have options of their own"))
	}
	if c.TLSCAFile != "" {
		pem, err := os.ReadFile(c.TLSCAFile)
		secure.RootCAs = x509.NewCertPool()
		if err == nil && !secure.RootCAs.AppendCertsFromPEM(pem) {
			err = fmt.Errorf("%s has no certificate in PEM", c.TLSCAFile)
		}
		if err != nil {
			problems = append(problems, fmt.Errorf("redlockfx: config: TLS CA file: %w", err))
		}
	}
	if c.TLSCertFile+c.TLSKeyFile != "" {
		read := func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
			pair, err := tls.LoadX509KeyPair(c.TLSCertFile, c.TLSKeyFile)
			if err != nil {
				return nil, fmt.Errorf("redlockfx: config: TLS client certificate, which needs a certificate file and a "+
					"key file: %w", err)
			}
			return &pair, nil
		}
		if _, err := read(nil); err != nil {
			problems = append(problems, err)
		}
		secure.GetClientCertificate = read
	}
	return secure, errors.Join(problems...)
}
