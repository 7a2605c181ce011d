import { existsSync } from "node:fs"
import { dirname, join } from "node:path"
import { familyOf } from "../../../pkg/apimachinery/addresses/cidr.ts"
import { buildDate } from "../../../pkg/version/version.ts"
import { bindAddress } from "../config/cluster-config.ts"
import { findServer } from "../process/pid-file.ts"
import { SIMULATED, type ServerFlags } from "../config/server-flags.ts"
import { checkCgroups } from "./cgroups.ts"
import { found, missing, type Finding } from "./finding.ts"
import { checkIPv6, checkKernel, judgeRoot } from "./kernel.ts"
import { checkMounts } from "./mounts.ts"
import { checkNetfilter } from "./netfilter.ts"
import { askPrograms, findPrograms } from "./programs.ts"
import { checkFolder, checkPort, checkResources } from "./resources.ts"
import { checkRoutes } from "./routes.ts"

/** The flags on which the requirements depend. */
export type Needs = Pick<
  ServerFlags,
  | "data-dir"
  | "bind-address"
  | "cluster-cidr"
  | "https-listen-port"
  | "write-kubeconfig"
  | "disable-agent"
  | "container-runtime-endpoint"
  | "default-local-storage-path"
>

/** Checks in a few milliseconds what would keep the server from running. Called before anything starts. */
export async function preflight(needs: Needs, pid?: number): Promise<Finding[]> {
  const node = hasNoRealNode(needs) ? [] : [...realNode(needs), ...checkIPv6(needs["cluster-cidr"].map(familyOf))]
  return [...folders(needs), await checkPort(bindAddress(needs), needs["https-listen-port"], pid), ...node].filter(
    ({ status }) => status === "missing",
  )
}

/** The same for an agent. */
export function preflightNode(needs: Pick<Needs, "data-dir" | "container-runtime-endpoint">): Finding[] {
  const node = needs["container-runtime-endpoint"] === SIMULATED ? [] : realNode(needs)
  return [dataFolder(needs), ...node].filter(({ status }) => status === "missing")
}

const realNode = (needs: Pick<Needs, "container-runtime-endpoint">): Finding[] => [
  judgeRoot(process.getuid?.()),
  ...checkCgroups(),
  ...findPrograms(needs["container-runtime-endpoint"] === undefined),
  ...runtimeEndpoint(needs),
]

/** Returns a finding for every requirement of the host. Changes nothing. */
export async function checkHost(needs: Needs, now: number): Promise<Finding[]> {
  const server = findServer(needs["data-dir"])
  const common = [
    ...folders(needs),
    await checkPort(bindAddress(needs), needs["https-listen-port"], server?.pid),
    ...(await checkResources(needs["data-dir"], now, Date.parse(buildDate))),
  ]
  if (hasNoRealNode(needs)) return common
  const families = needs["cluster-cidr"].map(familyOf)
  const [kernel, programs, netfilter, mounts] = await Promise.all([
    checkKernel(families),
    askPrograms(needs["container-runtime-endpoint"] === undefined),
    checkNetfilter(families),
    checkMounts(needs["default-local-storage-path"] ?? join(needs["data-dir"], "storage")),
  ])
  return [
    judgeRoot(process.getuid?.()),
    ...kernel,
    ...checkCgroups(),
    ...programs,
    ...runtimeEndpoint(needs),
    ...netfilter,
    ...checkRoutes(families),
    ...mounts,
    ...common,
  ]
}

/** Whether no real node runs here, so that an ordinary user's rights are enough. */
const hasNoRealNode = (needs: Needs): boolean =>
  needs["disable-agent"] || needs["container-runtime-endpoint"] === SIMULATED

const dataFolder = (needs: Pick<Needs, "data-dir">): Finding =>
  checkFolder("data directory", needs["data-dir"], "data-dir")

const folders = (needs: Needs): Finding[] => [
  dataFolder(needs),
  checkFolder("kubeconfig directory", dirname(needs["write-kubeconfig"]), "write-kubeconfig"),
]

function runtimeEndpoint({
  "container-runtime-endpoint": endpoint,
}: Pick<Needs, "container-runtime-endpoint">): Finding[] {
  if (endpoint === undefined) return []
  return [
    existsSync(endpoint)
      ? found("container runtime", endpoint)
      : missing(
          "container runtime",
          `there is no socket ${endpoint}`,
          "start the container runtime, or leave --container-runtime-endpoint out",
        ),
  ]
}
