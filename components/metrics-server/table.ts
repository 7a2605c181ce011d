import { addQuantities, formatQuantity, quantity, type Quantity } from "../../pkg/apimachinery/scalars/quantity.ts"
import type { Metrics, MetricsList } from "./metrics-types.ts"

const COLUMNS = ["Name", "cpu", "memory", "Window"].map((name) => ({
  name,
  type: "string",
  format: name === "Name" ? "name" : "",
  description: `The ${name.toLowerCase()} of the object`,
  priority: 0,
}))

/** Returns metrics as a table for `kubectl get`. Source: metrics-server pkg/api/table.go. */
export function tableOf(answer: Metrics | MetricsList): object {
  const items = "items" in answer ? answer.items : [answer]
  return {
    kind: "Table",
    apiVersion: "meta.k8s.io/v1",
    metadata: {},
    columnDefinitions: COLUMNS,
    rows: items.map((metrics) => ({
      cells: [metrics.metadata.name, total(metrics, "cpu"), total(metrics, "memory"), metrics.window],
      object: { kind: "PartialObjectMetadata", apiVersion: "meta.k8s.io/v1", metadata: metrics.metadata },
    })),
  }
}

function total({ usage, containers = [] }: Metrics, resource: "cpu" | "memory"): string {
  if (usage !== undefined) return usage[resource]
  const [first, ...rest] = containers.map((container) => quantity(container.usage[resource]))
  return first === undefined ? "" : formatQuantity(rest.reduce<Quantity>(addQuantities, first))
}
