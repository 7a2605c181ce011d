import { mkdir } from "node:fs/promises"
import type { Component, ComponentContext } from "../../pkg/component/component.ts"
import { startController, type RunningController } from "../../pkg/controller/start.ts"
import { makeShared } from "../../pkg/process/make-shared.ts"
import { mountPoints } from "../../pkg/process/mount-points.ts"
import { run } from "../../pkg/process/run.ts"
import { provisioner } from "../../pkg/provisioner/provisioner.ts"
import { reclaimer } from "../../pkg/provisioner/reclaimer.ts"
import { resizer } from "../../pkg/provisioner/resizer.ts"
import { FOLDER_MODE, Folders } from "./folders.ts"
import { projectQuota } from "./project-quota.ts"
import { localPath } from "./local-path.ts"
import { removeUnfinished, Unfinished } from "./unfinished.ts"

export interface LocalStorageConfig {
  readonly nodeName: string
  /** The folder in which the folders of volumes lie. */
  readonly root: string
}

/** Makes, enlarges and removes the volumes of the class `local-path` on this node. */
export function createLocalStorage(context: ComponentContext, { nodeName, root }: LocalStorageConfig): Component {
  let running: readonly RunningController[] = []
  return {
    name: "local-storage",
    problem: () => (running.length > 0 ? undefined : "it is not running"),
    async start() {
      await mkdir(root, { recursive: true, mode: FOLDER_MODE })
      await makeShared(root)
      const folders = new Folders(root)
      const unfinished = new Unfinished(root)
      const log = context.log.child({ component: "local-storage" })
      await removeUnfinished(root, { unfinished, folders, client: context.client, log })
      const maker = localPath(nodeName, folders, projectQuota(root, { mounts: mountPoints, run }), unfinished)
      running = await Promise.all([
        startController(provisioner("local-path-provisioner", maker), context),
        startController(reclaimer("local-path-reclaimer", maker), context),
        startController(resizer("local-path-resizer", maker), context),
      ])
    },
    async stop() {
      const stopping = running
      running = []
      await Promise.all(stopping.map((controller) => controller.stop()))
    },
  }
}
