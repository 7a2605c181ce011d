import { CSINode, type CSINodeSpec } from "../../../../pkg/api/storage/v1/csinode.ts"
import type { Node } from "../../../../pkg/api/core/v1/node/node.ts"
import { isNotFound } from "../../../../pkg/apimachinery/errors.ts"
import { deepEqual } from "../../../../pkg/apimachinery/json/equal.ts"
import { sleep } from "../../../../pkg/clock/clock.ts"
import type { KubeletContext } from "../../context.ts"

const RETRY_MS = 1000

/**
 * Shows the drivers of this node in its CSINode, by which the scheduler counts volumes; tries again until it can, or
 * `signal` aborts. Source: pkg/volume/csi/nodeinfomanager.
 */
export async function reportCsiNode(
  { client, clock, config, runtime, log }: KubeletContext,
  node: () => Node | undefined,
  signal: AbortSignal,
): Promise<void> {
  const { csi } = runtime
  if (csi === undefined) return
  const drivers = [...csi].map(([name, { nodeId, mostVolumes }]) => ({
    name,
    nodeID: nodeId,
    topologyKeys: null,
    ...(mostVolumes === undefined ? {} : { allocatable: { count: mostVolumes } }),
  }))
  while (!signal.aborted) {
    try {
      return await write({ drivers })
    } catch (err) {
      log.warn("Failed to report the CSI drivers of the node; will retry", { err })
      await sleep(clock, RETRY_MS, signal).catch(() => undefined)
    }
  }

  async function write(spec: CSINodeSpec): Promise<void> {
    const { nodeName: name } = config
    const there = await client.get(CSINode, { name }).catch((err: unknown) => {
      if (isNotFound(err)) return undefined
      throw err
    })
    if (there !== undefined) {
      // A driver that is registered already cannot change.
      const others = (there.spec.drivers ?? []).filter((driver) => !csi!.has(driver.name))
      const all = [...others, ...drivers]
      if (!deepEqual(all, there.spec.drivers)) await client.update(CSINode, { ...there, spec: { drivers: all } })
      return
    }
    const uid = node()?.metadata.uid
    const ownerReferences = uid === undefined ? [] : [{ apiVersion: "v1", kind: "Node", name, uid }]
    await client.create(CSINode, { metadata: { name, ownerReferences }, spec })
  }
}
