import type { KubeObject } from "../../../pkg/apimachinery/resource.ts"
import type { ComponentContext } from "../../../pkg/component/component.ts"
import type { Controller } from "../../../pkg/controller/controller.ts"
import { startController } from "../../../pkg/controller/start.ts"
import type { ClusterParts } from "./cluster-parts.ts"

interface RunParts extends Pick<ClusterParts, "driver" | "ending"> {
  readonly context: ComponentContext
  /** The user in whose name the controller acts. */
  readonly user: string
  /** Gets a function that stops the controller. */
  readonly stops: (() => unknown)[]
}

/** Runs a controller of the test until the cluster ends. Resolves when it has started. */
export async function runController<T extends KubeObject>(
  controller: Controller<T>,
  { driver, ending, context, user, stops }: RunParts,
): Promise<void> {
  const starting = startController(controller, context)
  // A controller that becomes ready only after the cluster has ended must be stopped too.
  starting
    .catch(() => undefined) // told by `driver.ended` below
    .then((running) => {
      if (ending.signal.aborted) return running?.stop()
      if (running !== undefined) stops.push(() => running.stop())
    })
    .catch((err: unknown) => context.log.warn("Failed to stop a controller", { controller: controller.name, err }))
  await driver.ended(
    () =>
      `run waits for ${controller.name} to start; as ${user} it cannot list ` +
      `${context.informers.pending().join(", ") || "what it watches"}`,
    starting,
  )
}
