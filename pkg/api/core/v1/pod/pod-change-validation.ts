import { deepEqual } from "../../../../apimachinery/json/equal.ts"
import type { Cause } from "../../../../apimachinery/errors.ts"
import {
  at,
  eachWithin,
  forbiddenField,
  invalidValue,
  required,
  within,
} from "../../../../apimachinery/validation/field-errors.ts"
import { goForm } from "../../../../apimachinery/go/go-form.ts"
import { inRange } from "../../../../apimachinery/validation/names.ts"
import { NodeSelectorTerm } from "./scheduling/affinity.ts"
import type { Container } from "../container/container.ts"
import { trimmedImage } from "../container/container-validation.ts"
import { isEmptyTerm, requiredTerms } from "./scheduling/node-selection.ts"
import type { PodSpec } from "./podspec.ts"
import { validateToleration } from "./scheduling/scheduling-validation.ts"
import type { Toleration } from "./scheduling/tolerations.ts"
import { pushAll } from "../../../../lists/push-all.ts"

/**
 * The parts of a pod that the rules of its changes read. Source: ValidatePodUpdate in
 * pkg/apis/core/validation/validation.go.
 */
interface PodView {
  readonly spec: PodSpec
}

const UPDATABLE = [
  "`spec.containers[*].image`",
  "`spec.initContainers[*].image`",
  "`spec.activeDeadlineSeconds`",
  "`spec.tolerations` (only additions to existing tolerations)",
  "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)",
].join(",")

/** Only these fields of a pod may change: images, the deadline (shorter), tolerations (added), gates (removed). */
export function validatePodChange({ spec }: PodView, { spec: old }: PodView): readonly Cause[] {
  const causes: Cause[] = []
  for (const list of ["containers", "initContainers"] as const) {
    const now = spec[list] ?? []
    if (now.length !== (old[list] ?? []).length)
      return [...causes, forbiddenField(at("spec", list), "pod updates may not add or remove containers")]
    for (const [i, { image = "" }] of now.entries()) {
      // Upstream reports these faults a second time for an update.
      if (image === "") causes.push(required(at("spec", list, i, "image")))
      within(causes, trimmedImage(image), at("spec", list), i)
    }
  }
  const [deadline, before] = [spec.activeDeadlineSeconds, old.activeDeadlineSeconds]
  if (deadline !== undefined) {
    const outside = inRange(deadline, 0, 2 ** 31 - 1)
    if (outside !== undefined) return [...causes, invalidValue("spec.activeDeadlineSeconds", deadline, outside)]
    if (before !== undefined && before < deadline)
      return [
        ...causes,
        invalidValue("spec.activeDeadlineSeconds", deadline, "must be less than or equal to previous value"),
      ]
  } else if (before !== undefined)
    causes.push(
      invalidValue("spec.activeDeadlineSeconds", undefined, "must not update from a positive integer to nil value"),
    )
  pushAll(causes, onlyAddedTolerations(spec.tolerations ?? [], old.tolerations ?? []), onlyRemovedGates(spec, old))

  const gated = (old.schedulingGates ?? []).length > 0
  if (gated && !containsAll(spec.nodeSelector ?? {}, old.nodeSelector ?? {}))
    causes.push(
      invalidValue(
        "spec.nodeSelector",
        spec.nodeSelector ?? {},
        "only additions to spec.nodeSelector are allowed (no mutations or deletions)",
      ),
    )
  if (gated) pushAll(causes, nodeAffinityFaults(spec, old))
  const withOldImages = (list: readonly Container[] | undefined, from: readonly Container[] | undefined) =>
    list?.map((container, i) => ({ ...container, image: from![i]!.image }))
  const rest: PodSpec = {
    ...spec,
    containers: withOldImages(spec.containers, old.containers)!,
    initContainers: withOldImages(spec.initContainers, old.initContainers),
    activeDeadlineSeconds: before,
    schedulingGates: old.schedulingGates,
    tolerations: old.tolerations,
    ...(old.terminationGracePeriodSeconds < 0 && spec.terminationGracePeriodSeconds === 1
      ? { terminationGracePeriodSeconds: old.terminationGracePeriodSeconds }
      : {}),
    // While a pod has scheduling gates, its node selection may be narrowed.
    ...(gated ? { nodeSelector: old.nodeSelector, affinity: withOldNodeAffinity(spec, old) } : {}),
  }
  const changed = (Object.keys({ ...rest, ...old }) as (keyof PodSpec)[]).filter(
    (field) => !deepEqual(rest[field], old[field]),
  )
  if (changed.length > 0)
    causes.push(
      forbiddenField(
        "spec",
        `pod updates may not change fields other than ${UPDATABLE}\nchanged: ` +
          `${changed.map((field) => `spec.${field}`).join(", ")}`,
      ),
    )
  return causes
}

function withOldNodeAffinity(spec: PodSpec, old: PodSpec): PodSpec["affinity"] {
  const { nodeAffinity: _ours, ...others } = spec.affinity ?? {}
  const nodeAffinity = old.affinity?.nodeAffinity
  if (nodeAffinity === undefined) return Object.keys(others).length === 0 ? old.affinity : others
  return { ...others, nodeAffinity }
}

const NEEDED = "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms"

/** A change of the node affinity may only narrow the nodes that it selects. Source: validateNodeAffinityMutation. */
function nodeAffinityFaults(spec: PodSpec, old: PodSpec): readonly Cause[] {
  const [now = [], before = []] = [requiredTerms(spec), requiredTerms(old)]
  if (before.length === 0) return []
  const shown = now.map((term) => goForm(NodeSelectorTerm, term))
  if (now.length !== before.length)
    return [
      invalidValue(
        NEEDED,
        now.length === 0 ? null : shown,
        "no additions/deletions to non-empty NodeSelectorTerms list are allowed",
      ),
    ]
  return before.flatMap((term, i) =>
    onlyAddsTo(now[i]!, term)
      ? []
      : [invalidValue(at(NEEDED, i), shown[i], "only additions are allowed (no mutations or deletions)")],
  )
}

/** An empty term matches no node. With a condition added it would match some, so it would be widened. */
function onlyAddsTo(term: NodeSelectorTerm, old: NodeSelectorTerm): boolean {
  if (isEmptyTerm(old)) return isEmptyTerm(term)
  return (["matchExpressions", "matchFields"] as const).every((list) => {
    const before = old[list] ?? []
    return deepEqual((term[list] ?? []).slice(0, before.length), before)
  })
}

const containsAll = (map: Readonly<Record<string, string>>, part: Readonly<Record<string, string>>): boolean =>
  Object.entries(part).every(([key, value]) => map[key] === value)

/** Returns the fields of a toleration that may not change, as text to compare. */
const withoutSeconds = ({ key, operator, value, effect }: Toleration): string =>
  JSON.stringify([key, operator, value, effect])

function onlyAddedTolerations(tolerations: readonly Toleration[], old: readonly Toleration[]): readonly Cause[] {
  const wanted = new Set(tolerations.map(withoutSeconds))
  const kept = old.every((before) => wanted.has(withoutSeconds(before)))
  if (!kept)
    return [forbiddenField("spec.tolerations", "existing toleration can not be modified except its tolerationSeconds")]
  const causes: Cause[] = []
  eachWithin(causes, tolerations, "spec.tolerations", validateToleration)
  return causes
}

function onlyRemovedGates({ schedulingGates = [] }: PodSpec, { schedulingGates: old = [] }: PodSpec): readonly Cause[] {
  const before = new Set(old.map(({ name }) => name))
  return schedulingGates.flatMap(({ name }, i) =>
    before.has(name)
      ? []
      : [
          forbiddenField(
            at("spec.schedulingGates", i, "name"),
            `only deletion is allowed, but found new scheduling gate '${name}'`,
          ),
        ],
  )
}
