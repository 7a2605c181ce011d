import { Scale } from "../../../pkg/api/autoscaling/v1/scale.ts"
import { ApiError, badRequest, invalid, methodNotSupported } from "../../../pkg/apimachinery/errors.ts"
import { invalidValue } from "../../../pkg/apimachinery/validation/field-errors.ts"
import type { KubeObject, Resource } from "../../../pkg/apimachinery/resource.ts"
import { withEntries } from "../../../pkg/apimachinery/patch/apply/track.ts"
import type { ApiRequest, ApiResult } from "../call/request.ts"
import type { RegistryContext } from "./context.ts"
import { checkName, decodeSent, inNamespace } from "./decode.ts"
import { getStored } from "./verbs/get.ts"
import { applyFields, recordUpdate } from "./managed-fields/managed-fields.ts"
import { patched } from "./patched.ts"
import { entriesOfScale, entriesOfWorkload } from "./managed-fields/scale-managed-fields.ts"
import { checkPrecondition } from "./stored-precondition.ts"
import { changeObject } from "./verbs/update.ts"

/**
 * The size of a workload, by paths that its kind declares. A write changes a Scale made of the workload, owners of its
 * fields included; then the workload is changed accordingly, as by an update of it. Source:
 * pkg/registry/apps/deployment/storage ScaleREST.
 */
export async function scale(context: RegistryContext, request: ApiRequest): Promise<ApiResult> {
  const { resource, verb } = request
  if (verb === "get") {
    const { object } = await getStored(context, request)
    checkReplicas(resource, object)
    return { kind: "object", code: 200, object: scaleOf(resource, object) }
  }
  if (verb !== "update" && verb !== "patch") throw methodNotSupported(resource, verb)
  const steps = stepsOf(resource.subresources!.scale!.specReplicas)
  const view = {
    show: (object: KubeObject) => scaleOf(resource, object),
    take: (shown: KubeObject, object: KubeObject) =>
      withPath(object, steps, (shown as Scale).spec.replicas ?? 0) as KubeObject,
  }
  const changed = await changeObject(context, request, (old) => scaled(context, request, old!.object), false, view)
  if (changed.kind !== "object") return changed
  return { kind: "object", code: 200, object: scaleOf(resource, changed.object) }
}

/** What a Scale shows to a write while the object has no number. Source: etcd.go scaleUpdatedObjectInfo. */
const NO_REPLICAS = -(2 ** 31)

/** Whether it is a custom object without a number in the field of its size. */
function lacksReplicas({ subresources }: Resource, object: KubeObject): boolean {
  const { specReplicas, needsReplicas } = subresources!.scale!
  if (needsReplicas !== true) return false
  let value: unknown = object
  for (const step of stepsOf(specReplicas)) value = (value as Readonly<Record<string, unknown>> | undefined)?.[step]
  return value === undefined
}

/** There is no size of such an object to read. Source: registry/customresource/etcd.go ScaleREST. */
function checkReplicas(resource: Resource, object: KubeObject): void {
  if (!lacksReplicas(resource, object)) return
  const why = `the spec replicas field ${JSON.stringify(resource.subresources!.scale!.specReplicas)} does not exist`
  throw new ApiError("InternalError", `Internal error occurred: ${why}`, { causes: [{ message: why }] })
}

/** The workload as the request wants it. */
async function scaled(context: RegistryContext, request: ApiRequest, old: KubeObject): Promise<KubeObject> {
  const { resource, name = "" } = request
  const { metadata } = old
  const { specReplicas } = resource.subresources!.scale!
  const steps = stepsOf(specReplicas)
  const isMissing = lacksReplicas(resource, old)
  const shown = scaleOf(resource, old)
  const before = withEntries(
    isMissing ? { ...shown, spec: { replicas: NO_REPLICAS } } : shown,
    entriesOfScale(metadata.managedFields, steps),
  )
  const wanted = await wantedScale(context, { ...request, resource: Scale }, before)
  const replicas = wanted.spec.replicas ?? 0
  if (replicas === NO_REPLICAS && isMissing)
    throw badRequest(`the spec replicas field ${JSON.stringify(specReplicas)} cannot be empty`)
  // The rules of a custom resource look at the number in the object.
  if (replicas < 0 && resource.definition === undefined)
    throw invalid(Scale, name, [invalidValue("spec.replicas", replicas, "must be greater than or equal to 0")])
  // A Scale without a resourceVersion changes whatever is stored, also of kinds that take no such update.
  const { uid, resourceVersion: sent = "" } = wanted.metadata
  const resourceVersion = sent === "" ? metadata.resourceVersion : sent
  checkPrecondition({
    resource,
    namespace: metadata.namespace,
    dryRun: request.options.dryRun,
    name,
    wanted: uid,
    current: metadata.uid,
    about: { group: resource.group, plural: `${resource.plural}/scale` },
  })
  const entries = entriesOfWorkload(metadata.managedFields, wanted.metadata.managedFields, resource, steps)
  const same = replicas === (before.spec.replicas ?? 0)
  const object = same ? old : (withPath(old, steps, replicas) as KubeObject)
  return withEntries({ ...object, metadata: { ...object.metadata, resourceVersion } }, entries)
}

/**
 * The Scale as the request makes it from the present one, with the fields of who wrote. `request` is about the Scale.
 */
async function wantedScale(context: RegistryContext, request: ApiRequest, before: Scale): Promise<Scale> {
  const { patch, patchFault, body } = request
  if (patchFault !== undefined) throw patchFault
  if (patch?.type === "apply") return (await applyFields(context, request, patch.body, before)) as Scale
  let sent: Scale
  if (patch !== undefined) sent = patched(request, Scale, { ...patch, type: patch.type }, before)
  else sent = decodeSent(Scale, body, request)
  checkName(sent, request)
  return (await recordUpdate(context, request, inNamespace(sent, request), before)) as Scale
}

function scaleOf({ subresources }: Resource, object: KubeObject): Scale {
  const { specReplicas, statusReplicas, selector } = subresources!.scale!
  const { name, namespace, uid, resourceVersion, creationTimestamp } = object.metadata
  const text = selector(object)
  const replicas = numberAt(object, stepsOf(specReplicas))
  return {
    apiVersion: Scale.apiVersion,
    kind: Scale.kind,
    metadata: { name, namespace, uid, resourceVersion, creationTimestamp },
    spec: replicas === 0 ? {} : { replicas },
    status: { replicas: numberAt(object, stepsOf(statusReplicas)), ...(text === "" ? {} : { selector: text }) },
  }
}

const stepsOf = (path: string): readonly string[] => path.split(".").filter((step) => step !== "")

function numberAt(object: object, steps: readonly string[]): number {
  let value: unknown = object
  for (const step of steps) value = (value as Readonly<Record<string, unknown>> | undefined)?.[step]
  return typeof value === "number" ? value : 0
}

function withPath(object: object, [step, ...rest]: readonly string[], value: number): object {
  const inner = (object as Readonly<Record<string, unknown>>)[step!]
  return { ...object, [step!]: rest.length === 0 ? value : withPath((inner as object | undefined) ?? {}, rest, value) }
}
