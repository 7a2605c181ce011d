import { exactKey } from "../../../../cache/exact-key.ts"
import { repeated } from "../../../../apimachinery/validation/repeated.ts"
import type { Cause } from "../../../../apimachinery/errors.ts"
import {
  at,
  duplicate,
  forbiddenField,
  invalidValue,
  invalidValues,
  notSupported,
  required,
  within,
} from "../../../../apimachinery/validation/field-errors.ts"
import { goForm } from "../../../../apimachinery/go/go-form.ts"
import type { ObjectMeta } from "../../../../apimachinery/meta.ts"
import { isLabelValue, isQualifiedName, oneProblem } from "../../../../apimachinery/validation/names.ts"
import { rangesFaults } from "../dual-stack.ts"
import { Taint, type NodeSpec } from "./nodespec.ts"
import { NodeAddress, type NodeStatus } from "./nodestatus.ts"
import { amountFaults } from "../resources/resource-names.ts"

/** Validates nodes. Source: ValidateNode, ValidateNodeUpdate in pkg/apis/core/validation/validation.go. */
interface NodeView {
  readonly metadata: ObjectMeta
  readonly spec: NodeSpec
  readonly status: NodeStatus
}

/** Validates a new Node, or one whose spec is updated. Parts that it shares with `old` were checked before. */
export function nodeFaults(node: NodeView, old?: NodeView): readonly Cause[] {
  const { spec, status } = node
  const causes: Cause[] = [...commonFaults(node, old)]
  const swap = status.nodeInfo.swap?.capacity
  if (swap !== undefined && swap <= 0)
    causes.push(invalidValue("metadata.nodeSwapStatus.capacity", swap, "must be greater than zero"))
  if (spec.podCIDRs !== undefined && spec.podCIDRs !== old?.spec.podCIDRs)
    within(causes, rangesFaults(spec.podCIDRs), "spec.podCIDRs")
  return causes
}

/** Validates an update of the spec or the status. */
export function nodeChangeFaults(node: NodeView, old: NodeView): readonly Cause[] {
  const { spec, status } = node
  const causes: Cause[] = [...commonFaults(node, old)]
  const addresses = status.addresses === old.status.addresses ? [] : (status.addresses ?? [])
  for (const i of repeated(addresses, ({ type, address }) => exactKey([type, address])))
    causes.push(duplicate(at("status.addresses", i), goForm(NodeAddress, addresses[i]!)))
  const [ranges, before] = [spec.podCIDRs ?? [], old.spec.podCIDRs ?? []]
  // Upstream reports this once for each range that differs.
  const changed = ranges.length === before.length ? before.filter((range, i) => range !== ranges[i]).length : 1
  if (before.length > 0)
    for (let i = 0; i < changed; i++)
      causes.push(forbiddenField("spec.podCIDRs", 'node updates may not change podCIDR except from "" to valid'))
  if (old.spec.providerID && old.spec.providerID !== spec.providerID)
    causes.push(forbiddenField("spec.providerID", 'node updates may not change providerID except from "" to valid'))
  if ((spec.externalID ?? "") !== (old.spec.externalID ?? ""))
    causes.push(forbiddenField("spec.externalID", "may not be updated"))
  return causes
}

/** The rules that upstream applies twice to an update of the spec. */
function commonFaults({ metadata, spec, status }: NodeView, old: NodeView | undefined): readonly Cause[] {
  const causes: Cause[] = []
  if (metadata.annotations !== undefined && metadata.annotations !== old?.metadata.annotations)
    within(causes, annotationFaults(metadata.annotations), "metadata.annotations")
  // Upstream gives a path in the metadata here.
  if (spec.taints !== undefined && spec.taints !== old?.spec.taints)
    within(causes, taintFaults(spec.taints), "metadata.taints")
  for (const list of ["capacity", "allocatable"] as const) {
    if (status[list] === old?.status[list]) continue
    for (const name in status[list]) within(causes, amountFaults(name, status[list][name]!), at("status", list, name))
  }
  if (status.declaredFeatures !== undefined && status.declaredFeatures !== old?.status.declaredFeatures)
    within(causes, featureFaults(status.declaredFeatures), "status.declaredFeatures")
  return causes
}

const EFFECTS = ["NoSchedule", "PreferNoSchedule", "NoExecute"]

/** Returns the faults of a list of taints: of keys, values, effects, and duplicate pairs of key and effect. */
function taintFaults(taints: readonly Taint[]): readonly Cause[] {
  const seen = new Set<string>()
  return taints.flatMap((taint, i) => {
    const { key, value = "", effect } = taint
    const causes: Cause[] = [...invalidValues(at("", i, "key"), key, isQualifiedName(key))]
    const wrong = isLabelValue(value)
    if (wrong !== undefined) causes.push(invalidValue(at("", i, "value"), value, oneProblem(wrong, ";")))
    if ((effect as string) === "") causes.push(required(at("", i, "effect")))
    else if (!EFFECTS.includes(effect)) causes.push(notSupported(at("", i, "effect"), effect, EFFECTS))
    const pair = `${effect}:${key}`
    if (seen.has(pair))
      causes.push(duplicate(at("", i), goForm(Taint, taint), "taints must be unique by key and effect pair"))
    seen.add(pair)
    return causes
  })
}

const FEATURE = /^[A-Z][a-zA-Z0-9]*(\/[a-zA-Z][a-zA-Z0-9]*)*$/
const LONGEST_FEATURE = 253

/** Checks that declared features are valid names in alphabetical order. */
function featureFaults(features: readonly string[]): readonly Cause[] {
  return features.flatMap((name, i) => {
    const causes: Cause[] = []
    const shown = () => `invalid feature name ${JSON.stringify(name)}:`
    if (name.length > LONGEST_FEATURE)
      causes.push(invalidValue(at("", i), name, `${shown()} must be no more than ${LONGEST_FEATURE} characters`))
    else if (!FEATURE.test(name))
      causes.push(
        invalidValue(
          at("", i),
          name,
          `${shown()} must start with an UpperCamelCase segment, with subsequent segments separated by '/' ` +
            "(e.g., MyFeature or MyFeature/mySubFeature), and contain only alphanumeric characters and slashes",
        ),
      )
    const next = features[i + 1]
    if (next === name) causes.push(duplicate(at("", i + 1), next))
    else if (next !== undefined && next < name)
      causes.push(invalidValue(at("", i + 1), next, "list must be sorted alphabetically"))
    return causes
  })
}

const AVOIDS = "scheduler.alpha.kubernetes.io/preferAvoidPods"

/** Validates the annotation preferAvoidPods of old schedulers, which lists controllers whose pods should run elsewhere. */
function annotationFaults(annotations: Readonly<Record<string, string>>): readonly Cause[] {
  const text = annotations[AVOIDS] ?? ""
  if (text === "") return []
  const entries = avoidedControllers(text)
  if (entries === undefined) return [invalidValue("AvoidPods", AVOIDS, "invalid JSON")]
  return entries.flatMap((controller, i) =>
    controller === undefined
      ? [required(`${AVOIDS}[${i}].PodSignature`)]
      : controller.controller === false
        ? [invalidValue(`${AVOIDS}[${i}].PodSignature.PodController.Controller`, false, "must point to a controller")]
        : [],
  )
}

interface Avoided {
  readonly podSignature?: { readonly podController?: { readonly controller?: boolean } }
}

function avoidedControllers(text: string): readonly ({ readonly controller?: boolean } | undefined)[] | undefined {
  try {
    const { preferAvoidPods = [] } = JSON.parse(text) as { readonly preferAvoidPods?: readonly Avoided[] }
    return preferAvoidPods.map(({ podSignature }) => podSignature?.podController)
  } catch {
    return undefined
  }
}
