//go:build unix

package redisproc

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
	"syscall"
)

// Ports are chosen below those that the kernel gives to outgoing connections (Linux: from 32768),
// so that no such connection takes the port of a killed node before its restart.
const (
	lowestPort = 10000
	busOffset  = 10000 // from a node's port to that of its cluster bus
	ports      = 12768 // to choose from; the highest bus is on 32767
)

var errPortTaken = errors.New("port taken by another process")

// freeAddr chooses at random a port of 127.0.0.1 that is free, and whose cluster bus is, or
// returns errPortTaken.
func freeAddr() (string, error) {
	port := lowestPort + rand.IntN(ports)
	addr := loopback(port)
	return addr, errors.Join(free(addr), free(loopback(port+busOffset)))
}

func loopback(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }

func free(addr string) error {
	l, err := net.Listen("tcp", addr)
	if errors.Is(err, syscall.EADDRINUSE) {
		return fmt.Errorf("%s: %w", addr, errPortTaken)
	}
	if err != nil {
		return err
	}
	return l.Close()
}
