import { existsSync } from "node:fs"
import { dirname } from "node:path"
import { familyOf } from "../../../pkg/apimachinery/addresses/cidr.ts"
import { bindAddress } from "../config/cluster-config.ts"
import { SIMULATED, type ServerFlags } from "../config/server-flags.ts"
import { checkCgroups } from "./cgroups.ts"
import { found, missing, type Finding } from "./finding.ts"
import { checkIPv6, judgeRoot } from "./kernel.ts"
import { findPrograms } from "./programs.ts"
import { checkFolder, checkPort } from "./resources.ts"

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

/** Whether no real node runs here, so that an ordinary user's rights are enough. */
export const hasNoRealNode = (needs: Needs): boolean =>
  needs["disable-agent"] || needs["container-runtime-endpoint"] === SIMULATED

const dataFolder = (needs: Pick<Needs, "data-dir">): Finding =>
  checkFolder("data directory", needs["data-dir"], "data-dir")

export const folders = (needs: Needs): Finding[] => [
  dataFolder(needs),
  checkFolder("kubeconfig directory", dirname(needs["write-kubeconfig"]), "write-kubeconfig"),
]

export function runtimeEndpoint({
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
