/**
 * Removes what a node of k3ts made on the host. It is found by our folders, names and the uids of our pods, so that
 * nothing of other programs is removed.
 */
import { execFile } from "node:child_process"
import { existsSync, readdirSync, readFileSync, rmSync } from "node:fs"
import { join } from "node:path"
import { promisify } from "node:util"
import { DNS_INTERFACE } from "../../../components/dns/address.ts"
import { cleanUp } from "../../../components/kube-proxy/mode.ts"
import { TABLE as POLICY_TABLE } from "../../../components/network-policy/base-chains.ts"
import { contains, parseAddress, parseNetwork } from "../../../pkg/apimachinery/addresses/cidr.ts"
import { removeTable } from "../../../pkg/netfilter/nft.ts"
import { isMadeHere } from "../../../components/containerd/network/bridge.ts"
import { BRIDGE, CONFIG_NAME } from "../../../components/containerd/network/cni.ts"
import { removeSourceGuard } from "../../../components/containerd/network/sources/source-guard.ts"
import { detectCgroupDriver } from "../../../components/containerd/host.ts"
import { containerdPaths } from "../../../components/containerd/paths.ts"
import { Attempts } from "../../../pkg/process/attempts.ts"
import { endShared } from "../../../pkg/process/make-shared.ts"
import { unlinkUsualSockets } from "../../../components/containerd/usual-sockets.ts"
import { tearDown, unmountBelow } from "../../../components/containerd/tear-down.ts"
import { kubeletRoots } from "../../../components/cluster/node/kubelet-root.ts"
import { removePodCgroups } from "../../../components/kubelet/pod/resources/pod-cgroups.ts"
import { BlockDevices, DEVICES } from "../../../components/kubelet/runtime/cri/volumes/block-devices.ts"
import { hostCgroups } from "../../../components/kubelet/runtime/cri/cgroups.ts"
import { sleep, type Clock } from "../../../pkg/clock/clock.ts"
import { hostIn } from "../../../pkg/netfilter/host.ts"
import { endOrphanedEtcd } from "../../../components/etcd/process.ts"
import { etcdFolder } from "../etcd/flags.ts"
import { findAgent, findServer, holderOf, NODE_PID_FILE } from "./pid-file.ts"

const run = promisify(execFile)

/** Servers and agents stop within five seconds; one that takes twice that hangs. */
const STOP_TIMEOUT_MS = 10_000

export interface KillAllOptions {
  readonly dataDir: string
  /** The folder of volumes, where it is not in the data directory. */
  readonly storage?: string | undefined
  readonly clock: Clock
  /** Called before each step that removes something. */
  readonly tell: (what: string) => void
}

/**
 * Stops the server or the agent of the data directory, then everything that it runs on this host. Images, the store
 * and certificates stay. A step that fails keeps no other from being tried; resolves to what is left, a line each.
 */
export async function killAll({
  dataDir,
  storage = join(dataDir, "storage"),
  clock,
  tell,
}: KillAllOptions): Promise<readonly string[]> {
  const attempts = new Attempts()
  await attempts.try("the server", () => stop("server", () => findServer(dataDir)?.pid, clock, tell))
  await attempts.try("the agent", () => stop("agent", () => findAgent(dataDir)?.pid, clock, tell))
  await attempts.try("etcd", async () => {
    if ((await endOrphanedEtcd(etcdFolder(dataDir), clock)) !== undefined) tell("Stopped the etcd of a killed server")
  })
  if (!existsSync(join(dataDir, "agent"))) {
    tell(`No node has run on ${dataDir}: nothing more to remove`)
    return attempts.faults
  }
  const paths = containerdPaths(dataDir)
  const roots = kubeletRoots(dataDir)
  const uids = roots.flatMap((root) => entriesOf(join(root, "pods")))
  tell("Removing rules of Services and network policies")
  await attempts.try("rules of Services", () => cleanUp(hostIn()))
  await attempts.try("rules of network policies", () => removeTable(hostIn(), "inet", POLICY_TABLE))
  await attempts.try("the source guard", () => removeSourceGuard())
  tell("Stopping containers")
  const config = readOr(join(paths.cniConfig, CONFIG_NAME))
  const bridge = isMadeHere() || ownsBridge(config, await addressesOf(BRIDGE)) ? BRIDGE : false
  await tearDown(paths, clock, { bridge, attempts })
  await attempts.try("links to the socket of containerd", () => unlinkUsualSockets(paths))
  tell("Removing mounts, cgroups and interfaces")
  const devices = new BlockDevices()
  for (const pods of roots.map((root) => join(root, "pods")))
    for (const uid of entriesOf(pods))
      await attempts.try(`devices of the pod ${uid}`, () => devices.unmap(join(pods, uid, DEVICES), pods))
  await attempts.try("mounts of volumes", () => unmountBelow([...roots, storage]))
  for (const folder of [...roots, storage]) await attempts.try(`the mount ${folder}`, () => endShared(folder))
  await attempts.try("cgroups of pods", () => removeCgroups(uids, clock, attempts))
  // A killed server has left it behind.
  if (holderOf(NODE_PID_FILE) === undefined)
    await attempts.try(NODE_PID_FILE, () => rmSync(NODE_PID_FILE, { force: true }))
  if (existsSync(`/sys/class/net/${DNS_INTERFACE}`))
    await attempts.try(`the interface ${DNS_INTERFACE}`, () => run("ip", ["link", "delete", DNS_INTERFACE]))
  return attempts.faults
}

/** What a command says at its end about what is left; empty where nothing is. */
export const leftBehind = (left: readonly string[]): string =>
  left.length === 0 ? "" : `Left behind:\n${left.map((line) => `  ${line}\n`).join("")}`

/** Stops the process whose pid `find` returns, if there is one. */
async function stop(
  what: "server" | "agent",
  find: () => number | undefined,
  clock: Clock,
  tell: KillAllOptions["tell"],
): Promise<void> {
  const pid = find()
  if (pid === undefined) return
  tell(`Stopping the ${what} (pid ${pid})`)
  process.kill(pid, "SIGTERM")
  const deadline = clock.monotonic() + STOP_TIMEOUT_MS
  while (find() === pid) {
    if (clock.monotonic() > deadline) {
      tell(`It does not stop: killing it`)
      process.kill(pid, "SIGKILL")
      await sleep(clock, 100)
      return
    }
    await sleep(clock, 20) // it is no child process, so its end causes no event
  }
}

/**
 * Whether the bridge was made by our network configuration: k3s and others use the name `cni0` too. Its addresses are
 * the first ones of the ranges in the configuration.
 */
export function ownsBridge(config: string | undefined, addresses: readonly string[]): boolean {
  const subnets = [...(config ?? "").matchAll(/"subnet": "([^"]+)"/g)].map(([, subnet]) => parseNetwork(subnet!)!)
  return subnets.some((subnet) => addresses.some((address) => contains(subnet, parseAddress(address)!)))
}

async function removeCgroups(uids: readonly string[], clock: Clock, attempts: Attempts): Promise<void> {
  const cgroups = hostCgroups(detectCgroupDriver(), clock)
  for (const uid of uids) await attempts.try(`cgroups of the pod ${uid}`, () => removePodCgroups({ cgroups }, uid))
  // Another kubelet may share the cgroups above: they are removed when no pod is left in them.
  for (const path of [["kubepods", "burstable"], ["kubepods", "besteffort"], ["kubepods"]]) {
    if ((await cgroups.children(path)).length === 0) await cgroups.remove(path)
  }
}

/** Asks `ip`, because the platform's own list leaves out a bridge without pods. */
async function addressesOf(device: string): Promise<string[]> {
  const { stdout } = await run("ip", ["-o", "addr", "show", "dev", device]).catch(() => ({ stdout: "" }))
  return [...stdout.matchAll(/ inet6? (\S+)\//g)].map(([, address]) => address!)
}

function readOr(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8")
  } catch {
    return undefined
  }
}

function entriesOf(folder: string): string[] {
  try {
    return readdirSync(folder)
  } catch {
    return []
  }
}
