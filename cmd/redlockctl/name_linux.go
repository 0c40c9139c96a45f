package main

import "os"

// programFile is the file of this program. The system calls a process by the name of its file at first: by this one it is
// "exe" and not redlockctl, even before it can choose its name.
func programFile() (string, error) {
	const self = "/proc/self/exe"
	if _, err := os.Stat(self); err != nil {
		return os.Executable()
	}
	return self, nil
}

// setProcessName sets the name by which killall and pkill know this process.
func setProcessName(name string) {
	_ = os.WriteFile("/proc/self/comm", []byte(name), 0) // then it stays as it is
}
