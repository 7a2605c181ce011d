import type { ClusterParts } from "../cluster-parts.ts"
import { TestClusterError } from "../caller.ts"
import { kubectlOn, type KubectlParts } from "../kubectl/run.ts"

/** The file that the command writes, in memory. */
const FILE = "recording.k3ts"

/** Nothing of the past takes the cluster's time. */
const STILL: KubectlParts["driver"] = { ended: (_, work) => work, runsBeside: () => () => {} }

/**
 * Records a test cluster, as `k3ts record` does. `flags` are those of the command; with `--for` the cluster's time goes
 * on.
 */
export async function recordCluster(parts: ClusterParts, flags: readonly string[]): Promise<Uint8Array> {
  let bytes: Uint8Array | undefined
  const driver = flags.some((flag) => flag.startsWith("--for=")) ? parts.driver : STILL
  const command = ["record", "-o", FILE, ...flags]
  const { code, stderr } = await kubectlOn({ ...parts, driver }, command, {}, async (files) => {
    bytes = await files.read(FILE).catch(() => undefined)
  })
  if (code !== 0 || bytes === undefined) throw new TestClusterError(`Cannot record the cluster: ${stderr.trim()}`)
  return bytes
}
