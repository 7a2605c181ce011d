import { execFile } from "node:child_process"
import { accessSync, constants } from "node:fs"
import { delimiter, join } from "node:path"
import { promisify } from "node:util"
import { findCniBinDir } from "../../../components/containerd/host.ts"
import { found, missing, warning, type Finding } from "./finding.ts"

export const run = promisify(execFile)

interface Program {
  readonly name: string
  /** The Debian package. */
  readonly package: string
  /** Arguments that print the version on the first line. */
  readonly version: readonly string[]
}

const CONTAINERD: readonly Program[] = [
  { name: "containerd", package: "containerd", version: ["--version"] },
  { name: "ctr", package: "containerd", version: ["--version"] },
  { name: "runc", package: "runc", version: ["--version"] },
]
const NETWORK: readonly Program[] = [
  { name: "iptables", package: "iptables", version: ["--version"] },
  { name: "iptables-restore", package: "iptables", version: ["--version"] },
  { name: "conntrack", package: "conntrack", version: ["--version"] },
  { name: "ip", package: "iproute2", version: ["-Version"] },
  { name: "mount", package: "mount", version: ["--version"] },
]

const programsFor = (ownRuntime: boolean): readonly Program[] => [...(ownRuntime ? CONTAINERD : []), ...NETWORK]

/** Returns whether each program is on the PATH, without running it. */
export const findPrograms = (ownRuntime: boolean): Finding[] => [
  ...programsFor(ownRuntime).map(({ name, package: source }) => {
    const path = onPath(name)
    return path === undefined ? absent(name, source) : found(name, path)
  }),
  ...(ownRuntime ? [cniPlugins()] : []),
]

/** Returns the same with versions, by running each program. */
export const askPrograms = async (ownRuntime: boolean): Promise<Finding[]> => [
  ...(await Promise.all(
    programsFor(ownRuntime).map(async ({ name, package: source, version }) => {
      if (onPath(name) === undefined) return absent(name, source)
      try {
        const { stdout } = await run(name, [...version])
        return found(name, stdout.split("\n")[0]!.trim())
      } catch (err) {
        return missing(
          name,
          `does not run: ${(err as Error).message.split("\n")[0]}`,
          `install it anew: apt-get install --reinstall ${source}`,
        )
      }
    }),
  )),
  ...(ownRuntime ? [cniPlugins()] : []),
]

const absent = (name: string, source: string): Finding => missing(name, "not on the PATH", `apt-get install ${source}`)

function cniPlugins(): Finding {
  const folder = findCniBinDir()
  return folder === undefined
    ? warning(
        "CNI plugins",
        "bridge, host-local, loopback and portmap are in none of /opt/cni/bin, /usr/lib/cni, /usr/libexec/cni: pods " +
          "with host ports or bandwidth limits do not start",
        "apt-get install containernetworking-plugins",
      )
    : found("CNI plugins", folder)
}

/** Returns the path of a program; undefined when it is not on the PATH. */
export function onPath(name: string, path = process.env.PATH ?? ""): string | undefined {
  return path
    .split(delimiter)
    .filter((folder) => folder !== "")
    .map((folder) => join(folder, name))
    .find((file) => {
      try {
        accessSync(file, constants.X_OK)
        return true
      } catch {
        return false
      }
    })
}
