import { createRequire } from "node:module"
import { keyFrom } from "../../pkg/client/informer.ts"
import { defineController, watching, type Controller } from "../../pkg/controller/controller.ts"
import { HelmChart, HelmChartConfig } from "../../pkg/k3s-kinds/helmchart.ts"
import type { RunningConfig } from "./config.ts"
import type * as reconciling from "./reconcile-chart.ts"

/** Loaded with the first HelmChart. See pkg/cel/compile.ts for the two ways. */
const load = (): typeof reconciling =>
  typeof require === "function"
    ? require("./reconcile-chart.ts") // oxlint-disable-line typescript/no-require-imports
    : createRequire(import.meta.url)("./reconcile-chart.ts")

/** Makes the releases of HelmCharts. */
export const chartsController = (config: RunningConfig): Controller<HelmChart> =>
  defineController<HelmChart>({
    name: "helm-controller",
    reconciles: HelmChart,
    watches: [watching(HelmChartConfig, (object) => [keyFrom(object.metadata)])],
    reconcile: (key, context) => load().reconcileChart(key, context, config),
  })
