import type { KubeObject } from "../../pkg/apimachinery/resource.ts"
import type { Component, ComponentContext } from "../../pkg/component/component.ts"
import type { Controller } from "../../pkg/controller/controller.ts"
import { startController, type RunningController } from "../../pkg/controller/start.ts"

/** Returns a component that runs one controller. */
export function controllerComponent<T extends KubeObject>(
  controller: Controller<T>,
  context: ComponentContext,
): Component {
  let running: RunningController | undefined
  return {
    name: controller.name,
    async start() {
      running = await startController(controller, context)
    },
    stop: async () => running?.stop(),
  }
}
