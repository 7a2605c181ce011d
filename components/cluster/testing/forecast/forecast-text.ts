import { formatDuration } from "../../../../pkg/apimachinery/scalars/time.ts"
import { printed } from "../../../../pkg/terminal/printed.ts"
import type { Forecast } from "./forecast.ts"
import type { StuckBudget } from "./budgets.ts"
import type { WorkloadForecast } from "./observed.ts"

/** Lines of each part that are shown; JSON has all. */
const MOST_LINES = 15

/** Whether a forecast has something that one would not want. */
export const isTrouble = ({ change, unwell, services, restarts }: Forecast): boolean =>
  change.code !== 0 || unwell.length > 0 || restarts > 0 || services.some(({ unavailableMs }) => unavailableMs > 0)

/** Returns a forecast as text; `left` is what the copy has not of the real cluster. */
export function forecastText(found: Forecast, what: string, left: readonly string[]): string {
  const lines = [
    `What if: ${what} (in a copy with ${count(found.nodes, "node")} and ${count(found.pods, "pod")}, over ${time(found.spanMs)})`,
    ...changeLines(found),
    ...part("Pods", found.workloads.map(workloadLine)),
    ...part("Not well at the end", unwellLines(found)),
    ...part("Budgets in the way", found.budgets.map(budgetLine)),
    ...part("Services", serviceLines(found)),
    ...part(
      "Warnings",
      found.warnings.map(
        ({ reason, message, count: times }) => `${reason}: ${message}${times > 1 ? ` (${times} times)` : ""}`,
      ),
    ),
    `Restarts of containers: ${found.restarts}`,
    found.workloads.length === 0 ? "No pod begins or ends" : `The last pod changes after ${time(found.settledMs)}`,
    ...part("Not in the copy", left),
  ]
  return printed(lines)
}

const count = (many: number, what: string): string => `${many} ${what}${many === 1 ? "" : "s"}`

const time = (ms: number): string => formatDuration(Math.round(ms / 1000) * 1000)

function part(title: string, lines: readonly string[]): readonly string[] {
  if (lines.length === 0) return []
  const more = lines.length - MOST_LINES
  const shown = lines.slice(0, MOST_LINES).map((line) => `  ${line}`)
  return [`${title}:`, ...shown, ...(more > 0 ? [`  … and ${more} more (-o json shows them)`] : [])]
}

function changeLines({ change, changeMs }: Forecast): readonly string[] {
  const output = change.output
    .trim()
    .split("\n")
    .filter((line) => line !== "")
  if (change.code === 0) return [`It takes ${time(changeMs)}`]
  return [
    `It fails after ${time(changeMs)}, with exit code ${change.code}:`,
    ...output.slice(-5).map((line) => `  ${line}`),
  ]
}

function workloadLine({ workload, ended, began }: WorkloadForecast): string {
  const places = (counts: Readonly<Record<string, number>>) =>
    Object.entries(counts)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([node, many]) => `${many} ${node === "" ? "on no node" : `on ${node}`}`)
      .join(", ")
  const [gone, come] = [places(ended), places(began)]
  if (gone === "") return `${workload}: ${come} more`
  return come === "" ? `${workload}: ${gone} end` : `${workload}: ${gone} end, ${come} begin`
}

/** Pods of a workload that are unwell for the same reason share a line. */
function unwellLines({ unwell }: Forecast): readonly string[] {
  const byReason = Map.groupBy(unwell, ({ workload, why }) => JSON.stringify([workload, why]))
  return [...byReason.values()].map((pods) => {
    const [{ pod, workload, why }] = pods as [(typeof pods)[0]]
    return pods.length === 1 ? `${pod}: ${why}` : `${pods.length} pods of ${workload}: ${why}`
  })
}

const budgetLine = ({ namespace, name, node, pods, desiredHealthy, currentHealthy }: StuckBudget): string =>
  `${namespace}/${name} keeps ${count(pods, "pod")} on ${node}: ${desiredHealthy} must be healthy, ${currentHealthy} ${currentHealthy === 1 ? "is" : "are"}`

const serviceLines = ({ services }: Forecast): readonly string[] =>
  services
    .filter(
      ({ unavailableMs, fewestReady, readyBefore, readyAfter }) =>
        unavailableMs > 0 || fewestReady < readyBefore || readyAfter !== readyBefore,
    )
    .toSorted((a, b) => b.unavailableMs - a.unavailableMs)
    .map(({ namespace, name, unavailableMs, sinceMs, fewestReady, readyBefore, readyAfter }) => {
      const ready = `ready endpoints: ${readyBefore} before, at least ${fewestReady}, ${readyAfter} at the end`
      return unavailableMs > 0
        ? `${namespace}/${name}: unavailable for ${time(unavailableMs)}, from ${time(sinceMs ?? 0)} on; ${ready}`
        : `${namespace}/${name}: ${ready}`
    })
