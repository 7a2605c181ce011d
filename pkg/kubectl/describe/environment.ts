import type { Container } from "../../api/core/v1/container/container.ts"
import type { ObjectMeta } from "../../apimachinery/meta.ts"
import type { PrefixWriter } from "./prefix-writer.ts"
import { containerResource } from "../polymorphic/container-resource.ts"

type Variables = Pick<Container, "env" | "envFrom" | "resources">

/** Writes where variables come from that are not named one by one. */
export function describeEnvFrom(w: PrefixWriter, { envFrom = [] }: Variables): void {
  if (envFrom.length === 0) return
  w.row(2, "Environment Variables from:")
  for (const { configMapRef, secretRef, prefix = "" } of envFrom) {
    const from = configMapRef ? "ConfigMap" : secretRef ? "Secret" : ""
    const { name = "", optional = false } = configMapRef ?? secretRef ?? {}
    w.row(3, name, prefix === "" ? from : `${from} with prefix '${prefix}'`, `Optional: ${optional}`)
  }
}

/** Writes variables. Fields of the pod are shown where `metadata`, that of the pod, is known. */
export function describeEnv(w: PrefixWriter, container: Variables, metadata: ObjectMeta | undefined): void {
  const { env = [] } = container
  w.write(2, env.length === 0 ? "Environment:\t<none>\n" : "Environment:\n")
  for (const { name, value = "", valueFrom } of env) {
    if (valueFrom === undefined) {
      for (const [i, line] of value.split("\n").entries()) w.row(3, i === 0 ? `${name}:` : "", line)
      continue
    }
    const { fieldRef, resourceFieldRef, secretKeyRef, configMapKeyRef } = valueFrom
    if (fieldRef)
      w.row(3, `${name}:`, `${fieldValue(fieldRef, metadata)} (${fieldRef.apiVersion ?? ""}:${fieldRef.fieldPath})`)
    else if (resourceFieldRef)
      w.row(3, `${name}:`, `${resourceValue(resourceFieldRef, container)} (${resourceFieldRef.resource})`)
    else if (secretKeyRef) {
      const { key, name: secret = "", optional = false } = secretKeyRef
      w.row(3, `${name}:`, `<set to the key '${key}' in secret '${secret}'>`, `Optional: ${optional}`)
    } else if (configMapKeyRef) {
      const { key, name: map = "", optional = false } = configMapKeyRef
      w.row(3, `${name}:`, `<set to the key '${key}' of config map '${map}'>`, `Optional: ${optional}`)
    }
  }
}

/** Returns a field of the pod. kubectl knows only these two. */
function fieldValue({ fieldPath }: { readonly fieldPath: string }, metadata: ObjectMeta | undefined): string {
  if (fieldPath === "metadata.name") return metadata?.name ?? ""
  return fieldPath === "metadata.namespace" ? (metadata?.namespace ?? "") : ""
}

/** Source: ExtractContainerResourceValue in kubectl pkg/util/resource. */
function resourceValue(
  { resource, divisor }: { readonly resource: string; readonly divisor?: string | undefined },
  { resources }: Variables,
): string {
  const value = containerResource({ resource, divisor }, resources)
  if (value === undefined) return ""
  return value === "0" && (resource === "limits.cpu" || resource === "limits.memory") ? "node allocatable" : value
}
