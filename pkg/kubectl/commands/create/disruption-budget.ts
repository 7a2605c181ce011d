import { stringFlag } from "../../command/flag.ts"
import { labelSelectorOf } from "../../resource/label-selector.ts"
import { generator, metadataOf } from "./generator.ts"

/** Source: kubectl pkg/cmd/create/create_pdb.go. */
export const createPodDisruptionBudgetCommand = generator({
  use: "poddisruptionbudget NAME --selector=SELECTOR --min-available=N [--dry-run=server|client|none]",
  aliases: ["pdb"],
  short: "Create a pod disruption budget with the specified name",
  long: "Create a pod disruption budget with the specified name, selector, and how many pods must be there.",
  example: `
# Create a budget called my-pdb, by which one pod with the label app=rails must be there at any time
kubectl create poddisruptionbudget my-pdb --selector=app=rails --min-available=1

# Create one by which half of the pods with the label app=nginx must be there at any time
kubectl create pdb my-pdb --selector=app=nginx --min-available=50%`,
  flags: {
    "min-available": stringFlag("", "The number or percentage of pods that must be available."),
    "max-unavailable": stringFlag("", "The number or percentage of pods that may be unavailable."),
    selector: stringFlag("", "The label selector of the budget."),
  },
  apiVersion: "policy/v1",
  kind: "PodDisruptionBudget",
  resource: "poddisruptionbudgets",
  failure: "failed to create poddisruptionbudgets:",
  make({ name, namespace, flags }) {
    const { "min-available": least, "max-unavailable": most, selector } = flags
    checkFlags(selector, least, most)
    const labelSelector = labelSelectorOf(selector)
    return {
      metadata: metadataOf({ name, namespace }),
      spec: {
        ...(least === "" ? {} : { minAvailable: intOrString(least) }),
        selector: labelSelector,
        ...(most === "" ? {} : { maxUnavailable: intOrString(most) }),
      },
      status: { disruptionsAllowed: 0, currentHealthy: 0, desiredHealthy: 0, expectedPods: 0 },
    }
  },
})

function checkFlags(selector: string, least: string, most: string): void {
  if (selector === "") throw new Error("a selector must be specified")
  if (least === "" && most === "") throw new Error("one of min-available or max-unavailable must be specified")
  if (least !== "" && most !== "") throw new Error("min-available and max-unavailable cannot be both specified")
  const amount = /^[0-9]+%?$/
  if (least !== "" && !amount.test(least)) throw new Error("invalid format specified for min-available")
  if (most !== "" && !amount.test(most)) throw new Error("invalid format specified for max-unavailable")
}

/** Reads a number of 32 bits as one, and everything else as text. Source: apimachinery pkg/util/intstr (Parse). */
export const intOrString = (text: string): number | string =>
  /^[+-]?\d+$/.test(text) && Math.abs(Number(text)) < 2 ** 31 ? Number(text) : text
