import { createRequire } from "node:module"
import { CustomResourceDefinition } from "../../pkg/api/apiextensions/v1/customresourcedefinition.ts"
import type { Component, ComponentContext } from "../../pkg/component/component.ts"
import { startController, type RunningController } from "../../pkg/controller/start.ts"
import type * as charts from "./charts-controller.ts"
import type { HelmControllerConfig } from "./config.ts"

/** Loaded when the kinds are served. See pkg/cel/compile.ts for the two ways. */
const load = (): typeof charts =>
  typeof require === "function"
    ? require("./charts-controller.ts") // oxlint-disable-line typescript/no-require-imports
    : createRequire(import.meta.url)("./charts-controller.ts")

const DEFINITIONS = ["helmcharts.helm.cattle.io", "helmchartconfigs.helm.cattle.io"]

/**
 * Installs the charts that HelmCharts name, in this process, while their kinds are served. Source of the semantics:
 * k3s-io/helm-controller, which runs helm in a Job.
 */
export function createHelmController(context: ComponentContext, config: HelmControllerConfig): Component {
  const { informers, spawn } = context
  let running: RunningController | undefined
  let turns = Promise.resolve()
  let stopping = new AbortController()
  let off = (): void => undefined

  const isServed = (): boolean =>
    DEFINITIONS.every((name) => {
      const found = informers.of(CustomResourceDefinition).get(name)
      const established = found?.status?.conditions?.some(
        ({ type, status }) => type === "Established" && status === "True",
      )
      return established === true && found?.metadata.deletionTimestamp === undefined
    })

  /** Starts and stops the controller with its kinds, one after the other. */
  const look = (): void => {
    const before = turns
    turns = new Promise((resolve) => {
      spawn("controller of HelmCharts", async () => {
        try {
          await before
          const { signal } = stopping
          const wanted = !signal.aborted && isServed()
          if (wanted && running === undefined)
            running = await startController(load().chartsController({ ...config, signal }), context)
          else if (!wanted) {
            const ending = running
            running = undefined
            await ending?.stop()
          }
        } finally {
          resolve()
        }
      })
    })
  }

  return {
    name: "helm-controller",
    async start() {
      stopping = new AbortController()
      const definitions = informers.of(CustomResourceDefinition)
      await definitions.whenSynced()
      const changed = ({ metadata: { name = "" } }: CustomResourceDefinition) => {
        if (DEFINITIONS.includes(name)) look()
      }
      off = definitions.on({ added: changed, updated: changed, deleted: changed })
    },
    async stop() {
      off()
      stopping.abort(new Error("the controller is being stopped"))
      look()
      await turns
    },
  }
}
