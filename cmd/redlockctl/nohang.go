//go:build unix && !aix

package main

import "syscall"

const noHang = syscall.WNOHANG
