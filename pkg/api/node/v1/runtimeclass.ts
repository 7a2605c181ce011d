import { deprecationOf } from "../../core/v1/node/node-label-warnings.ts"
import type { Cause } from "../../../apimachinery/errors.ts"
import { at, duplicate, invalidValues, within } from "../../../apimachinery/validation/field-errors.ts"
import { e, f, message, type ObjectOf } from "../../../apimachinery/fields.ts"
import { goForm } from "../../../apimachinery/go/go-form.ts"
import { isDNS1123Label } from "../../../apimachinery/validation/names.ts"
import { validateLabels } from "../../../apimachinery/validation/objectmeta.ts"
import { defineResource, type ObjectFor } from "../../../apimachinery/resource.ts"
import { validateOverhead } from "../../core/v1/resources/resources-validation.ts"
import { validateToleration } from "../../core/v1/pod/scheduling/scheduling-validation.ts"
import { Toleration } from "../../core/v1/pod/scheduling/tolerations.ts"

/** Source: k8s.io/api node/v1/types.go, pkg/apis/node/validation. */

export const Overhead = message(
  "node.v1.Overhead",
  "Resources that a pod of the class needs in addition to its containers.",
  {
    podFixed: f.map(1, e.quantity, "Amount of each resource."),
  },
)
export interface Overhead extends ObjectOf<typeof Overhead> {}

export const Scheduling = message("node.v1.Scheduling", "Which nodes support the class.", {
  nodeSelector: f
    .map(1, e.string, "Labels of the nodes that support the class; added to the pod's nodeSelector.")
    .atomic(),
  tolerations: f.list(2, Toleration, "Taints of such nodes that pods of the class tolerate.").atomic(),
})
export interface Scheduling extends ObjectOf<typeof Scheduling> {}

const fields = {
  handler: f.string(2, "Name of the configuration in the container runtime; cannot be changed.").required().immutable(),
  overhead: f.message(3, Overhead, "Resources that a pod of the class needs in addition to its containers."),
  scheduling: f.message(4, Scheduling, "Which nodes support the class."),
}
export interface RuntimeClass extends ObjectFor<typeof fields> {}

export const RuntimeClass = defineResource(
  {
    group: "node.k8s.io",
    version: "v1",
    kind: "RuntimeClass",
    plural: "runtimeclasses",
    scope: "Cluster",
    upstreamChecks: { wholeMetadata: 1, plainFinalizers: true },
    doc: "A way of running containers that the container runtime offers.",
    columns: [{ name: "Handler", type: "string", doc: "Name of the configuration.", value: ({ handler }) => handler }],
    allowCreateOnUpdate: true,
    allowUnconditionalUpdate: false,
    warnings: ({ scheduling }) =>
      Object.keys(scheduling?.nodeSelector ?? {}).flatMap((label) => {
        const deprecation = deprecationOf(label)
        return deprecation === undefined ? [] : [`scheduling.nodeSelector: ${deprecation}`]
      }),
    validate: ({ handler, overhead, scheduling }) => [
      ...invalidValues("handler", handler, isDNS1123Label(handler)),
      ...overheadFaults(overhead),
      ...schedulingFaults(scheduling ?? {}),
    ],
  },
  fields,
)

function overheadFaults(overhead: Overhead | undefined): readonly Cause[] {
  const causes: Cause[] = []
  if (overhead !== undefined) within(causes, validateOverhead(overhead.podFixed ?? {}), "overhead")
  return causes
}

function schedulingFaults({ nodeSelector = {}, tolerations = [] }: Scheduling): readonly Cause[] {
  const causes: Cause[] = [...validateLabels(nodeSelector, "scheduling.nodeSelector")]
  const seen = new Set<string>()
  for (const [i, toleration] of tolerations.entries()) {
    const { key = "", operator = "", value = "", effect = "" } = toleration
    const text = JSON.stringify([key, operator, value, effect])
    within(causes, validateToleration(toleration), at("scheduling.tolerations", i))
    if (seen.has(text)) causes.push(duplicate(at("scheduling.tolerations", i), goForm(Toleration, toleration)))
    seen.add(text)
  }
  return causes
}
