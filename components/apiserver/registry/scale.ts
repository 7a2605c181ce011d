import { Scale } from "../../../pkg/api/autoscaling/v1/scale.ts"
import { decodeObject } from "../../../pkg/apimachinery/decode.ts"
import { badRequest, conflict, invalid, methodNotSupported, MODIFIED } from "../../../pkg/apimachinery/errors.ts"
import { invalidValue } from "../../../pkg/apimachinery/field-errors.ts"
import { applyJsonPatch } from "../../../pkg/apimachinery/patch/json.ts"
import { applyMergePatch } from "../../../pkg/apimachinery/patch/merge.ts"
import { applyStrategicMergePatch } from "../../../pkg/apimachinery/patch/strategic.ts"
import type { KubeObject, Resource } from "../../../pkg/apimachinery/resource.ts"
import type { ApiRequest, ApiResult } from "../request.ts"
import type { RegistryContext } from "./context.ts"
import { getStored } from "./get.ts"
import { withGeneration } from "./generation.ts"
import { updateBySubresource } from "./subresource-update.ts"

/** The size of a workload, by paths that its kind declares. Source: pkg/registry/apps/deployment/storage ScaleREST. */
export async function scale(context: RegistryContext, request: ApiRequest): Promise<ApiResult> {
  const { resource, verb, name = "" } = request
  if (verb === "get")
    return { kind: "object", code: 200, object: scaleOf(resource, getStored(context, request).object) }
  if (verb !== "update" && verb !== "patch") throw methodNotSupported(resource, verb)
  const { stored } = await updateBySubresource(context, request, {
    change(old) {
      const shown = scaleOf(resource, old)
      const { object: wanted } = decodeObject(Scale, verb === "patch" ? patched(request, shown) : request.body, {
        fieldValidation: request.options.fieldValidation,
      })
      if (wanted.metadata.name !== undefined && wanted.metadata.name !== name)
        throw badRequest(
          `the name of the object (${wanted.metadata.name}) does not match the name on the URL (${name})`,
        )
      const { resourceVersion = "" } = wanted.metadata
      if (resourceVersion !== "" && resourceVersion !== old.metadata.resourceVersion)
        throw conflict(resource, name, MODIFIED)
      const replicas = wanted.spec.replicas ?? 0
      if (replicas < 0)
        throw invalid(Scale, name, [invalidValue("spec.replicas", replicas, "must be greater than or equal to 0")])
      if (replicas === (shown.spec.replicas ?? 0)) return undefined
      const scaled = withPath(old, stepsOf(resource.subresources!.scale!.specReplicas), replicas) as KubeObject
      return withGeneration(resource, scaled, old)
    },
  })
  return { kind: "object", code: 200, object: scaleOf(resource, stored.object) }
}

function scaleOf({ subresources }: Resource, object: KubeObject): Scale {
  const { specReplicas, statusReplicas, selector } = subresources!.scale!
  const { name, namespace, uid, resourceVersion, creationTimestamp } = object.metadata
  const text = selector(object)
  return {
    apiVersion: Scale.apiVersion,
    kind: Scale.kind,
    metadata: { name, namespace, uid, resourceVersion, creationTimestamp },
    spec: { replicas: numberAt(object, stepsOf(specReplicas)) },
    status: { replicas: numberAt(object, stepsOf(statusReplicas)), ...(text === "" ? {} : { selector: text }) },
  }
}

function patched({ patch }: ApiRequest, shown: Scale): unknown {
  switch (patch?.type) {
    case "json":
      return applyJsonPatch(shown, patch.body)
    case "strategic":
      return applyStrategicMergePatch(Scale.schema, shown, patch.body)
    case "merge":
    case "apply":
      return applyMergePatch(shown, patch.body)
    case undefined:
      throw badRequest("a patch needs a body")
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
