import { join } from "node:path"
import type { Component } from "../../pkg/component/component.ts"
import { inOrder } from "../../pkg/snapshot/in-order.ts"
import { readServerFiles } from "../../pkg/snapshot/server-files.ts"
import { version } from "../../pkg/version/version.ts"
import type { ApiServer } from "../apiserver/apiserver.ts"
import { createSnapshots, type ScheduledConfig } from "../snapshots/snapshots.ts"
import type { Tools } from "./clients.ts"

export interface ClusterSnapshotsConfig {
  readonly dataDir: string
  readonly node: string
  readonly scheduled?: ScheduledConfig
}

/** Returns the socket on which the server of a data directory gives snapshots. */
export const snapshotSocket = (dataDir: string): string => join(dataDir, "run/snapshot.sock")

/** Creates the component that takes snapshots of a cluster with a data directory. */
export function clusterSnapshots(
  { clock, log }: Tools,
  apiServer: Pick<ApiServer, "image">,
  { dataDir, node, scheduled }: ClusterSnapshotsConfig,
): Component {
  return createSnapshots(
    { clock, log },
    {
      node,
      socket: snapshotSocket(dataDir),
      ...(scheduled === undefined ? {} : { scheduled }),
      contents() {
        const { revision, cluster, objects } = apiServer.image()
        return {
          info: { revision, time: clock.now(), version, node, cluster },
          files: readServerFiles(join(dataDir, "server")),
          objects: inOrder(objects, clock),
        }
      },
    },
  )
}
