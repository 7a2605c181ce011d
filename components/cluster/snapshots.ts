import { join } from "node:path"
import { Node } from "../../pkg/api/core/v1/node/node.ts"
import type { Component } from "../../pkg/component/component.ts"
import { createEventRecorder } from "../../pkg/controller/event-recorder.ts"
import { inOrder } from "../../pkg/snapshot/in-order.ts"
import { readServerFiles } from "../../pkg/snapshot/server-files.ts"
import { version } from "../../pkg/version/version.ts"
import { createSnapshots, type ScheduledConfig } from "../snapshots/snapshots.ts"
import type { AssembledCluster } from "./assemble.ts"
import { nodeUser, type Tools } from "./clients.ts"

export interface ClusterSnapshotsConfig {
  readonly dataDir: string
  readonly node: string
  readonly scheduled?: ScheduledConfig
}

/** Returns the path of the socket by which `k3ts snapshot save` asks the server of a data directory for a snapshot. */
export const snapshotSocket = (dataDir: string): string => join(dataDir, "run/snapshot.sock")

/** Creates the component that takes snapshots of a cluster with a data directory. */
export function clusterSnapshots(
  tools: Tools,
  { apiServer, clients }: Pick<AssembledCluster, "apiServer" | "clients">,
  { dataDir, node, scheduled }: ClusterSnapshotsConfig,
): Component {
  const { clock, log } = tools
  const client = clients.clientFor(nodeUser(node))

  /** Shows a failure as an Event of this server's node. A server without a node has only its log. */
  async function warn(reason: string): Promise<void> {
    const found = await client.get(Node, { name: node }).catch(() => undefined)
    if (found === undefined) return
    const events = createEventRecorder({ client, clock, log }, "k3ts-snapshots", node)
    events.event(found, "Warning", "SnapshotFailed", reason)
    await events.stop()
  }

  return createSnapshots(
    { clock, log },
    {
      node,
      socket: snapshotSocket(dataDir),
      ...(scheduled === undefined ? {} : { scheduled }),
      metrics: apiServer.metrics,
      failed: (reason) => tools.spawn("event of a snapshot", () => warn(reason)),
      contents() {
        const { revision, cluster, objects, end } = apiServer.image()
        return {
          info: { revision, time: clock.now(), version, node, cluster },
          files: readServerFiles(join(dataDir, "server")),
          objects: inOrder(objects, clock),
          end,
        }
      },
    },
  )
}
