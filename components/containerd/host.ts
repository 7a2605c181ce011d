import { existsSync, mkdirSync, readFileSync, rmSync } from "node:fs"
import { join } from "node:path"
import type { CgroupDriver } from "../../pkg/cri/cgroup-driver.ts"
import { run } from "../../pkg/process/run.ts"
import { hasPlugins } from "./network/plugin/install-plugins.ts"
import type { ContainerdPaths } from "./paths.ts"

/** Facts about this host on which the configuration of containerd depends. */
export interface HostFacts {
  /** Such as `1.6.20~ds1`. */
  readonly version: string
  /** The first number of the version. */
  readonly major: number
  /** The folder of the CNI plugins that containerd starts. */
  readonly cniBinDir: string
  readonly snapshotter: "overlayfs" | "native"
  /** Whether containerd may lower its `oom_score_adj`: CAP_SYS_RESOURCE. */
  readonly mayLowerOomScore: boolean
  readonly hasAppArmor: boolean
}

/** The folders of CNI plugins: /opt/cni/bin is upstream's, /usr/lib/cni Debian's, /usr/libexec/cni Fedora's. */
const CNI_BIN_DIRS = ["/opt/cni/bin", "/usr/lib/cni", "/usr/libexec/cni"]
const CNI_PLUGINS = ["bridge", "host-local", "loopback", "portmap"]

/** Inspects the host. @throws Error with what is missing and how to install it */
export async function inspectHost(paths: ContainerdPaths): Promise<HostFacts> {
  const cniBinDir = hasPlugins(paths) ? paths.cniBin : findCniBinDir()
  if (cniBinDir === undefined) {
    const plugins = CNI_PLUGINS.join(", ")
    const places = CNI_BIN_DIRS.join(", ")
    throw new Error(
      `Cannot start containerd: no CNI plugins (${plugins}) in ${places}. Install them: apt-get install ` +
        "containernetworking-plugins",
    )
  }
  const [version, overlay] = await Promise.all([containerdVersion(), overlayWorks(paths.root)])
  return {
    version,
    major: Number.parseInt(version, 10),
    cniBinDir,
    snapshotter: overlay ? "overlayfs" : "native",
    mayLowerOomScore: hasSysResource(readFileSync("/proc/self/status", "utf8")),
    hasAppArmor: appArmorEnabled(),
  }
}

/** Returns the first folder that has all plugins that the pod network needs. */
export function findCniBinDir(candidates: readonly string[] = CNI_BIN_DIRS): string | undefined {
  return candidates.find((folder) => CNI_PLUGINS.every((plugin) => existsSync(join(folder, plugin))))
}

async function containerdVersion(): Promise<string> {
  let output: string
  try {
    output = await run("containerd", ["--version"])
  } catch (err) {
    throw new Error(
      "Cannot start containerd: the program is not on the PATH or does not run. Install it: apt-get install containerd",
      { cause: err },
    )
  }
  return parseVersion(output)
}

/**
 * Returns the version in `containerd github.com/containerd/containerd v1.7.2 0cae528…`: `1.7.2`. From 2.0 on the second
 * word ends with `/v2`.
 */
export function parseVersion(output: string): string {
  const version = /^containerd \S+ v?(\d+\.\d+\S*)/.exec(output)?.[1]
  if (version === undefined)
    throw new Error(`Cannot read the version of containerd: "containerd --version" said "${output.trim()}"`)
  return version
}

/** Whether /proc/<pid>/status shows CAP_SYS_RESOURCE, bit 24 (linux/capability.h), among the effective capabilities. */
export function hasSysResource(status: string): boolean {
  const effective = /^CapEff:\s*([0-9a-f]+)$/m.exec(status)?.[1]
  return effective !== undefined && ((BigInt(`0x${effective}`) >> 24n) & 1n) === 1n
}

/** As containerd's own check (pkg/apparmor): the kernel supports AppArmor, and its parser is installed. */
function appArmorEnabled(): boolean {
  try {
    return (
      readFileSync("/sys/module/apparmor/parameters/enabled", "utf8").startsWith("Y") &&
      existsSync("/sbin/apparmor_parser")
    )
  } catch {
    return false
  }
}

/** Returns systemd when it runs the host with cgroups v2; upstream no longer supports systemd with v1. */
export function detectCgroupDriver(): CgroupDriver {
  return existsSync("/run/systemd/system") && existsSync("/sys/fs/cgroup/cgroup.controllers") ? "systemd" : "cgroupfs"
}

/**
 * Tries a mount, as containerd does: overlayfs may be missing, or may not support the file system below (another
 * overlayfs, some network file systems).
 */
async function overlayWorks(root: string): Promise<boolean> {
  const folder = join(root, `overlay-check-${process.pid}`)
  const [lower1, lower2, merged] = ["lower1", "lower2", "merged"].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ]
  for (const part of [lower1, lower2, merged]) mkdirSync(part, { recursive: true })
  try {
    await run("mount", ["-t", "overlay", "overlay", "-o", `lowerdir=${lower2}:${lower1}`, merged])
    await run("umount", [merged])
    return true
  } catch {
    return false
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
