package main

import (
	"cmp"
	"runtime/debug"
)

// version is set by the linker in releases and images: -X main.version=v1.2.3.
var version string

// versionText returns the version of this program, or the commit that it was built from.
func versionText() string {
	if version != "" {
		return version
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	text := cmp.Or(info.Main.Version, "unknown")
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" && text == "(devel)" {
			text += " " + s.Value
		}
	}
	return text
}
