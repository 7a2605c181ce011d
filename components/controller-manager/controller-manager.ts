import type { Component, ComponentContext } from "../../pkg/component/component.ts"
import type { Client } from "../../pkg/client/client.ts"
import type { ControllerObserver, RunningController } from "../../pkg/controller/start.ts"
import { checkKnown } from "../../pkg/names/known.ts"
import { controllers, type ControllersConfig } from "./controllers.ts"

export interface ControllerManagerConfig extends ControllersConfig {
  /** Names of the controllers that are off. */
  readonly disabled?: ReadonlySet<string>
  /** Returns a client that acts as this service account of kube-system, e.g. replicaset-controller. */
  readonly clientFor: (account: string) => Client
  readonly observer?: ControllerObserver
}

export interface ControllerManager extends Component {
  /** No controller is reconciling or has keys to reconcile. */
  readonly idle: boolean
}

const NONE: ReadonlySet<string> = new Set()

/** Runs the controllers. They share informers; each writes as its own user, so that audit and RBAC tell them apart. */
export function createControllerManager(context: ComponentContext, config: ControllerManagerConfig): ControllerManager {
  let running: RunningController[] = []
  let stopped = false
  let started = false
  return {
    name: "controller-manager",
    problem: () => (started ? undefined : "it is not running"),
    get idle() {
      return running.every((controller) => controller.idle)
    },
    async start(signal) {
      stopped = false
      const tracing = context.tracing?.of("kube-controller-manager")
      const { disabled = NONE } = config
      const all = controllers(config)
      const known = all.filter(({ insteadOf }) => insteadOf === undefined).map(({ name }) => name)
      checkKnown("controller", disabled, known)
      const entries = all.filter(({ name, insteadOf }) =>
        insteadOf === undefined ? !disabled.has(name) : disabled.has(insteadOf),
      )
      const starting = entries.map(async (entry) => {
        const client = entry.account === undefined ? context.client : config.clientFor(entry.account)
        const controller = await entry.start({ ...context, client, tracing }, config.observer)
        // A controller that becomes ready after the others were stopped is stopped too.
        if (stopped) await controller.stop()
        else running.push(controller)
      })
      await Promise.all(starting)
      signal.throwIfAborted()
      started = true
      context.log.info("Started controllers", { count: running.length })
    },
    async stop() {
      stopped = true
      started = false
      const stopping = running
      running = []
      await Promise.all(stopping.map((controller) => controller.stop()))
    },
  }
}
