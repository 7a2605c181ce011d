import { existsSync, readdirSync, readFileSync, realpathSync } from "node:fs"
import { basename, join } from "node:path"
import { sleep, type Clock } from "../../pkg/clock/clock.ts"
import { CRI_NAMESPACE } from "../../pkg/cri/containerd-events.ts"
import { hostIn } from "../../pkg/netfilter/host.ts"
import { NETLINK_ROUTE } from "../../pkg/netlink/links.ts"
import { openNetlink } from "../../pkg/runtime/netlink.ts"
import { DEVICES } from "./network/backend/backends.ts"
import { removeWays } from "./network/backend/remove-ways.ts"
import { BRIDGE } from "./network/cni.ts"
import { removePodEgress } from "./network/egress.ts"
import { CNI_RESULTS } from "./network/plugin/attachments.ts"
import { removeHostPorts } from "./network/host-ports.ts"
import type { ContainerdPaths } from "./paths.ts"
import { endOrphanedDaemon } from "./process.ts"
import { Attempts } from "../../pkg/process/attempts.ts"
import { commandLine, isOfThisMachine, processes } from "../../pkg/process/orphan.ts"
import { removeTree } from "../../pkg/process/remove-tree.ts"
import { run } from "../../pkg/process/run.ts"

export interface TearDownOptions {
  /** The bridge of the pod network; `false` when another program owns it. */
  readonly bridge?: string | false
  /** Whether to remove the rules of `allowPodEgress` and the ways to other nodes too: false when another k3ts on the host needs them. */
  readonly egress?: boolean
  /** Takes what fails; without it the first failure is thrown when everything else is done. */
  readonly attempts?: Attempts
}

/**
 * Ends every container of this containerd and removes what it made on the host: processes, mounts, network namespaces,
 * interfaces, host ports, addresses. Images stay. Nothing of another containerd is touched, since everything is found
 * by our own paths and sandbox ids. For `k3ts killall`, while k3ts does not run. The cgroups of pods belong to the
 * kubelet, which creates them.
 */
export async function tearDown(
  paths: ContainerdPaths,
  clock: Clock,
  { bridge = BRIDGE, egress = true, attempts }: TearDownOptions = {},
): Promise<void> {
  const all = attempts ?? new Attempts()
  const sandboxes = entriesOf(join(paths.state, "io.containerd.grpc.v1.cri/sandboxes"))
  const sockets = shimSockets(paths)
  await all.try("containerd", () => endOrphanedDaemon(paths, clock))
  await all.try("containers", () => endContainers(paths, clock))
  await all.try("mounts of containers", () => unmountBelow([paths.state, paths.root]))
  // The interfaces of pods were removed with their network namespaces; only the bridge is left.
  if (bridge !== false && existsSync(`/sys/class/net/${bridge}`))
    await all.try(`the interface ${bridge}`, () => run("ip", ["link", "delete", bridge]))
  await all.try("rules of host ports", () => removeHostPorts(new Set(sandboxes)))
  if (egress) {
    await all.try("rules of the pods' way out", () => removePodEgress())
    await all.try("ways to other nodes", () => removeNodeRoutes())
  }
  const results = sandboxes.flatMap((id) =>
    entriesOf(CNI_RESULTS)
      .filter((name) => name.includes(id))
      .map((name) => join(CNI_RESULTS, name)),
  )
  for (const path of [paths.state, paths.cniAddresses, paths.cniSocket, ...sockets, ...results])
    await all.try(path, () => removeUnmounted(path))
  if (attempts === undefined && all.faults[0] !== undefined) throw new Error(all.faults[0])
}

async function removeNodeRoutes(): Promise<void> {
  const socket = openNetlink(NETLINK_ROUTE)
  try {
    await removeWays(socket, hostIn(), DEVICES)
  } finally {
    socket.close()
  }
}

/**
 * Ends the shims that were started with the address of our daemon, `-address <socket>`, and their children, the first
 * processes of containers.
 */
async function endContainers(paths: ContainerdPaths, clock: Clock): Promise<void> {
  for (;;) {
    const pids = processes()
    const shims = new Set(pids.filter((pid) => isShim(commandLine(pid), paths.socket) && isOfThisMachine(pid)))
    if (shims.size === 0) return
    const parents = new Map(pids.map((pid) => [pid, parentOf(pid)]))
    const below = (pid: string): boolean => {
      const parent = parents.get(pid)
      return parent !== undefined && (shims.has(parent) || below(parent))
    }
    // Containers end before their shims: without its shim a container could not be recognized. The end of a container's
    // first process ends all its processes, including those started after the listing.
    for (const pid of [...pids.filter(below), ...shims]) {
      try {
        process.kill(Number(pid), "SIGKILL")
      } catch {
        // It has ended by itself in the meantime.
      }
    }
    await sleep(clock, 10) // they are not our children, so their end is not reported
  }
}

const isShim = ([program = "", ...args]: string[], socket: string) =>
  basename(program).startsWith("containerd-shim") && args.includes(socket)

/** Returns the fourth field of /proc/<pid>/stat; the second one, a name in parentheses, may contain any characters. */
function parentOf(pid: string): string | undefined {
  try {
    return /\) \S (\d+) /.exec(readFileSync(`/proc/${pid}/stat`, "utf8"))?.[1]
  } catch {
    return undefined
  }
}

/**
 * Returns the sockets of shims, which are in /run/containerd/s whatever the state folder is; each shim writes the
 * address beside its bundle.
 */
function shimSockets(paths: ContainerdPaths): string[] {
  const bundles = join(paths.state, "io.containerd.runtime.v2.task", CRI_NAMESPACE)
  return entriesOf(bundles).flatMap((id) => {
    try {
      return [
        readFileSync(join(bundles, id, "address"), "utf8")
          .trim()
          .replace(/^unix:\/\//, ""),
      ].filter((path) => path.startsWith("/run/containerd/s/"))
    } catch {
      return []
    }
  })
}

/**
 * Unmounts everything below the folders. The end of one mount may end others, of which `umount` then knows nothing: so
 * what counts is what is left. @throws Error that names it
 */
export async function unmountBelow(folders: readonly string[]): Promise<void> {
  for (let before = Infinity; ;) {
    const mounts = mountedBelow(folders)
    if (mounts.length === 0) return
    const attempts = new Attempts()
    for (const mount of mounts)
      await attempts.try(mount, () => run("umount", ["--no-canonicalize", "--lazy", "--", mount]))
    if (mounts.length >= before) throw new Error(attempts.faults.join("; "))
    before = mounts.length
  }
}

/** Returns what is mounted now below the folders. */
export const mountedBelow = (folders: readonly string[]): readonly string[] =>
  mountsBelow(readFileSync("/proc/self/mountinfo", "utf8"), folders.map(withoutLinks))

/** A mount is listed by its path without links, such as a data directory that is a link to another disk. */
function withoutLinks(path: string): string {
  try {
    return realpathSync(path)
  } catch {
    return path // it is not there, so nothing is mounted
  }
}

/** Removes a file or a folder. What others see at a mount below it would be removed too. @throws Error then */
export async function removeUnmounted(path: string): Promise<void> {
  const [mount] = mountedBelow([path])
  if (mount !== undefined) throw new Error(`not removed, because ${mount} is still mounted`)
  await removeTree(path)
}

/**
 * Returns the mount points below the folders in the order in which they must be unmounted: the newest is last in
 * mountinfo and may be on top of an older one.
 */
export const mountsBelow = (mountinfo: string, folders: readonly string[]): string[] =>
  mountinfo
    .split("\n")
    // White space is written as octal escapes. Source: proc(5).
    .map((line) =>
      (line.split(" ")[4] ?? "").replace(/\\([0-7]{3})/g, (_, code: string) =>
        String.fromCharCode(Number.parseInt(code, 8)),
      ),
    )
    .filter((path) => folders.some((folder) => path.startsWith(`${folder}/`)))
    .reverse()

function entriesOf(folder: string): string[] {
  try {
    return readdirSync(folder)
  } catch {
    return []
  }
}
