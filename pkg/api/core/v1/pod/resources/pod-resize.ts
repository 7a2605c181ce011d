import { deepEqual } from "../../../../../apimachinery/json/equal.ts"
import type { Cause } from "../../../../../apimachinery/errors.ts"
import { at, forbiddenField, invalidValue } from "../../../../../apimachinery/validation/field-errors.ts"
import type { Container } from "../../container/container.ts"
import { MIRROR_ANNOTATION } from "../pod-annotations-validation.ts"
import { isSidecar } from "../pod-columns.ts"
import { qosClassOf } from "./pod-qos.ts"
import type { PodView } from "../pod-view.ts"
import type { PodSpec } from "../podspec.ts"
import { pushAll } from "../../../../../lists/push-all.ts"

/**
 * Validates writes to the subresource `resize`. Source: dropNonResizeUpdates in pkg/registry/core/pod/strategy.go,
 * ValidatePodResize in pkg/apis/core/validation/validation.go.
 */

type Amounts = Readonly<Record<string, string>> | undefined
type Resources = { readonly requests?: Amounts; readonly limits?: Amounts }
const LISTS = ["containers", "initContainers"] as const
/** The path that upstream gives for a fault of the whole object. */
const WHOLE = "[]"

/**
 * Takes only resources and resize policies from what was sent. If the containers differ, the object stays as sent, and
 * validation refuses it.
 */
export function prepareResize<P extends PodView>(pod: P, old: P): P {
  const { resourceVersion, managedFields } = pod.metadata
  const metadata = { ...old.metadata, resourceVersion, managedFields }
  if (LISTS.some((list) => (pod.spec[list] ?? []).length !== (old.spec[list] ?? []).length))
    return { ...old, metadata, spec: pod.spec }
  const { initContainers } = old.spec
  return {
    ...old,
    metadata,
    spec: {
      ...old.spec,
      resources: pod.spec.resources,
      containers: resized(pod.spec.containers, old.spec.containers),
      ...(initContainers === undefined
        ? {}
        : { initContainers: resized(pod.spec.initContainers ?? [], initContainers) }),
    },
  }
}

function resized(sent: readonly Container[], old: readonly Container[]): readonly Container[] {
  if (sent.some(({ name }, i) => name !== old[i]!.name)) return sent
  return old.map((container, i) => {
    const { resources, resizePolicy } = sent[i]!
    return { ...container, resources, resizePolicy }
  })
}

/** Only CPU and memory may change; none of them may be removed, and the quality of service class must stay. */
export function validateResize(pod: PodView, old: PodView): readonly Cause[] {
  const { spec } = old
  if (old.metadata.annotations?.[MIRROR_ANNOTATION] !== undefined)
    return [forbiddenField(WHOLE, "static pods cannot be resized")]
  if (spec.os?.name === "windows") return [forbiddenField(WHOLE, "windows pods cannot be resized")]
  const causes: Cause[] = []
  if ((old.status.qosClass || qosClassOf(spec)) !== qosClassOf(pod.spec))
    causes.push(invalidValue("spec", pod.status.qosClass ?? "", "Pod QOS Class may not change as a result of resizing"))
  if (!supportsResize(old)) causes.push(forbiddenField("spec", "Pod running on node without support for resize"))
  if (hasAny(spec.resources) || hasAny(pod.spec.resources))
    pushAll(causes, podResourcesFaults(pod.spec.resources, spec.resources))
  const order = LISTS.flatMap((list) => orderFaults(list, pod.spec[list] ?? [], spec[list] ?? []))
  if (order.length > 0) return [...causes, ...order]
  return [...causes, ...removalFaults(pod.spec, spec), ...changeFaults(pod.spec, spec)]
}

/** Whether the node supports resizing: such nodes report the resources of running containers. */
function supportsResize({ status }: PodView): boolean {
  const running = status.containerStatuses?.find(({ state }) => state?.running !== undefined)
  return running === undefined || running.resources !== undefined
}

const hasAny = (resources: Resources | undefined): boolean =>
  Object.keys(resources?.requests ?? {}).length + Object.keys(resources?.limits ?? {}).length > 0

function podResourcesFaults(now: PodSpec["resources"], old: PodSpec["resources"]): readonly Cause[] {
  if (old !== undefined && now === undefined)
    return [forbiddenField("spec.resources", "pod-level resources cannot be removed")]
  return [
    ...(old !== undefined && removed(now?.requests, old.requests)
      ? [forbiddenField("spec.resources.requests", "pod-level resource requests cannot be removed")]
      : []),
    ...(old !== undefined && removed(now?.limits, old.limits)
      ? [forbiddenField("spec.resources.limits", "pod-level resource limits cannot be removed")]
      : []),
    ...(deepEqual(others(now ?? {}), others(old ?? {})) && deepEqual(now?.claims, old?.claims)
      ? []
      : [forbiddenField("spec", "only cpu and memory resources are mutable at pod-level")]),
  ]
}

const removed = (now: Amounts = {}, old: Amounts = {}): boolean =>
  Object.keys(old).some((name) => now[name] === undefined)

function orderFaults(
  list: (typeof LISTS)[number],
  now: readonly Container[],
  old: readonly Container[],
): readonly Cause[] {
  const path = at("spec", list)
  if (now.length !== old.length) return [forbiddenField(path, `${list} may not be added or removed on resize`)]
  return now.flatMap(({ name }, i) =>
    name === old[i]!.name
      ? []
      : [forbiddenField(at(path, i, "name"), `${list} may not be renamed or reordered on resize`)],
  )
}

const removalFaults = (now: PodSpec, old: PodSpec): readonly Cause[] =>
  (["initContainers", "containers"] as const).flatMap((list) =>
    (old[list] ?? []).flatMap(({ resources }, i) =>
      (["requests", "limits"] as const).flatMap((kind) =>
        removed(now[list]![i]!.resources[kind], resources[kind])
          ? [forbiddenField(at("spec", list, i, "resources", kind), `resource ${kind} cannot be removed`)]
          : [],
      ),
    ),
  )

function changeFaults(now: PodSpec, old: PodSpec): readonly Cause[] {
  const causes: Cause[] = []
  for (const [i, container] of now.containers.entries())
    if (!sameBesides(container, old.containers[i]!))
      causes.push(forbiddenField("spec", "only cpu and memory resources are mutable"))
  for (const [i, container] of (now.initContainers ?? []).entries()) {
    const before = old.initContainers![i]!
    const path = at("spec.initContainers", i)
    if (!sameBesides(container, before))
      causes.push(forbiddenField(path, "only cpu and memory resources for init or sidecar containers are mutable"))
    if (isSidecar(container) || deepEqual(container, before)) continue
    for (const { restartPolicy } of container.resizePolicy ?? [])
      if (restartPolicy === "RestartContainer")
        causes.push(
          forbiddenField(
            path,
            "non-sidecar init containers with a resize policy of RestartContainer cannot be resized",
          ),
        )
  }
  return causes
}

/**
 * Whether two lists of containers differ only in CPU and memory. As upstream, claims of the new containers are ignored.
 */
const sameBesides = ({ resources, ...container }: Container, { resources: before, ...old }: Container): boolean =>
  deepEqual(container, old) && deepEqual(others(resources), others(before)) && before.claims === undefined

function others({ requests, limits }: Resources): object {
  const without = (amounts: Amounts = {}) =>
    Object.fromEntries(Object.entries(amounts).filter(([name]) => name !== "cpu" && name !== "memory"))
  return { requests: without(requests), limits: without(limits) }
}
