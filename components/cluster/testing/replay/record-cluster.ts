import type { ClusterParts } from "../cluster-parts.ts"
import { TestClusterError } from "../caller.ts"
import { kubectlOn } from "../kubectl/run.ts"

/** The file that the command writes, in memory. */
const FILE = "recording.k3ts"

/** Records a test cluster, as `k3ts record` does. `flags` are those of the command. */
export async function recordCluster(parts: ClusterParts, flags: readonly string[]): Promise<Uint8Array> {
  let bytes: Uint8Array | undefined
  const { code, stderr } = await kubectlOn(parts, ["record", "-o", FILE, ...flags], {}, async (files) => {
    bytes = await files.read(FILE).catch(() => undefined)
  })
  if (code !== 0 || bytes === undefined) throw new TestClusterError(`Cannot record the cluster: ${stderr.trim()}`)
  return bytes
}
