import { spawnSync } from "node:child_process"
import { existsSync } from "node:fs"
import { findCniBinDir } from "./host.ts"

/** A statically linked busybox for the images of tests; undefined when there is none. */
export const busybox = ["/bin/busybox", "/usr/bin/busybox"].find((path) => existsSync(path))

/** Returns what this machine lacks to run containers. */
export const missingHere = (): readonly string[] =>
  [
    process.getuid?.() === 0 ? undefined : "root",
    spawnSync("containerd", ["--version"]).status === 0 ? undefined : "containerd",
    spawnSync("runc", ["--version"]).status === 0 ? undefined : "runc",
    findCniBinDir() === undefined ? "containernetworking-plugins" : undefined,
    busybox === undefined ? "busybox-static" : undefined,
  ].filter((name) => name !== undefined)
