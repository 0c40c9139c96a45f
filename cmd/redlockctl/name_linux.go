package main

import "os"

// programFile returns the file of this program. The system first names a process after its file. Started from
// /proc/self/exe, the watchdog is called "exe" and not redlockctl, even before it sets its name.
func programFile() (string, error) {
	const self = "/proc/self/exe"
	if _, err := os.Stat(self); err != nil {
		return os.Executable()
	}
	return self, nil
}

// setProcessName sets the name by which killall and pkill find this process.
func setProcessName(name string) {
	_ = os.WriteFile("/proc/self/comm", []byte(name), 0) // on an error the old name stays
}
