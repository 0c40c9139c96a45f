package main

// noHang is WNOHANG, which the packages syscall and unix do not define here.
const noHang = 1
