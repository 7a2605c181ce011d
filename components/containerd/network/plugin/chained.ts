/**
 * Runs other plugins for what only few pods need: `portmap` for host ports, `bandwidth` for the limits of the
 * annotations kubernetes.io/ingress-bandwidth and kubernetes.io/egress-bandwidth. If the configuration listed them,
 * they would be started for every pod.
 */
import { execFile } from "node:child_process"
import { existsSync } from "node:fs"
import { isAbsolute, join } from "node:path"
import { promisify } from "node:util"
import { CODE, CniError, resultText, type CniCall, type CniResult } from "./cni.ts"
import type { NetworkConfig } from "./network-config.ts"

const run = promisify(execFile)
/** `portmap` waits for the lock of iptables. */
const LIMIT_MS = 60_000

interface Chained {
  readonly type: string
  /** The plugin's part of the runtime's configuration, by the name of the capability. */
  readonly runtimeConfig: Readonly<Record<string, unknown>>
  readonly options: Readonly<Record<string, unknown>>
}

/** Returns the plugins that a pod needs. */
function chainOf({ runtime: { portMappings, bandwidth } }: NetworkConfig): readonly Chained[] {
  const chain: Chained[] = []
  if (bandwidth !== undefined && bandwidth !== null)
    chain.push({ type: "bandwidth", runtimeConfig: { bandwidth }, options: {} })
  // `snat` lets a pod reach its own host port, and makes 127.0.0.1:hostPort work on the node.
  if (Array.isArray(portMappings) && portMappings.length > 0)
    chain.push({ type: "portmap", runtimeConfig: { portMappings }, options: { snat: true } })
  return chain
}

/** A call for the network of a pod. */
interface PodCall {
  readonly call: CniCall
  readonly network: NetworkConfig
  /** Aborts the plugins that are running. */
  readonly signal: AbortSignal
}

/** Runs the plugins that the pod needs after its interface was made. @throws CniError of the plugin that failed */
export async function addChained(pod: PodCall, made: CniResult): Promise<void> {
  const prevResult: unknown = JSON.parse(resultText(pod.network.version, made))
  for (const plugin of chainOf(pod.network)) await start(plugin, pod, prevResult)
}

/** Undoes `addChained`. */
export async function removeChained(pod: PodCall): Promise<void> {
  for (const plugin of chainOf(pod.network).toReversed()) await start(plugin, pod, pod.call.config["prevResult"])
}

async function start(plugin: Chained, { call, network, signal }: PodCall, prevResult: unknown): Promise<void> {
  const { type, options, runtimeConfig } = plugin
  // Only absolute paths: a relative one would name a program below the folder in which k3ts was started.
  const folders = (call.environment.get("CNI_PATH") ?? "").split(":").filter(isAbsolute)
  const program = folders.map((folder) => join(folder, type)).find((path) => existsSync(path))
  if (program === undefined)
    throw new CniError(
      CODE.failed,
      `the CNI plugin ${type} is not in ${folders.join(", ") || "CNI_PATH, which has no absolute path"}, and the pod needs it: apt-get install ` +
        "containernetworking-plugins, and start k3ts again",
    )
  const config = { cniVersion: network.version, name: network.name, type, ...options, runtimeConfig, prevResult }
  const running = run(program, [], { env: Object.fromEntries(call.environment), timeout: LIMIT_MS, signal })
  running.child.stdin?.on("error", () => undefined) // the exit code shows the failure
  running.child.stdin?.end(JSON.stringify(config))
  try {
    await running
  } catch (err) {
    throw new CniError(CODE.failed, `the CNI plugin ${type} failed: ${complaintOf(err)}`)
  }
}

/** Plugins print their errors as JSON. */
function complaintOf(err: unknown): string {
  const { stdout = "", message } = err as { stdout?: string; message: string }
  try {
    return (JSON.parse(stdout) as { msg?: string }).msg ?? message
  } catch {
    return message
  }
}
