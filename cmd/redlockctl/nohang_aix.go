package main

// noHang is WNOHANG, for which the packages syscall and unix have no name here.
const noHang = 1
