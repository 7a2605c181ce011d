import { join } from "node:path"
import { familyOf } from "../../../pkg/apimachinery/addresses/cidr.ts"
import { buildDate } from "../../../pkg/version/version.ts"
import { bindAddress } from "../config/cluster-config.ts"
import { findServer } from "../process/pid-file.ts"
import { checkCgroups } from "./cgroups.ts"
import type { Finding } from "./finding.ts"
import { checkKernel, judgeRoot } from "./kernel.ts"
import { checkMounts } from "./mounts.ts"
import { checkNetfilter } from "./netfilter.ts"
import { folders, hasNoRealNode, runtimeEndpoint, type Needs } from "./preflight.ts"
import { askPrograms } from "./programs.ts"
import { checkPort, checkResources } from "./resources.ts"
import { checkRoutes } from "./routes.ts"

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
