import { deepEqual } from "../../../apimachinery/json/equal.ts"
import { parseInt64 } from "../../../apimachinery/go/go-text.ts"
import { errorMessage } from "../../../errors/error-message.ts"
import { DecodeError } from "../../../apimachinery/decoding/decoder-cursor.ts"
import type { ObjectMeta } from "../../../apimachinery/meta.ts"

/**
 * Counts the changes of a DaemonSet's template. It was a field once, and is now an annotation that only the server
 * sets. Source: Convert_v1_DaemonSet_To_apps_DaemonSet in pkg/apis/apps/v1/conversion.go,
 * pkg/registry/apps/daemonset/strategy.go.
 */
const ANNOTATION = "deprecated.daemonset.template.generation"

/** The label with the template generation of a pod. */
export const TEMPLATE_GENERATION_LABEL = "pod-template-generation"

interface Templated {
  readonly metadata: ObjectMeta
  readonly spec: { readonly template: unknown }
}

export const templateGeneration = ({ metadata }: Pick<Templated, "metadata">): string | undefined =>
  metadata.annotations?.[ANNOTATION]

/** Returns the set with the annotation that a client sent as a number. @throws DecodeError when it is not a number */
export function withTemplateGeneration<S extends Templated>(set: S): S {
  const sent = templateGeneration(set)
  if (sent === undefined) return counted(set, "0")
  try {
    return counted(set, String(parseInt64(sent)))
  } catch (err) {
    throw new DecodeError(errorMessage(err))
  }
}

export const firstTemplateGeneration = <S extends Templated>(set: S): S =>
  BigInt(templateGeneration(set) ?? "0") < 1n ? counted(set, "1") : set

export function nextTemplateGeneration<S extends Templated>(set: S, old: Templated): S {
  const before = templateGeneration(old) ?? "1"
  return counted(set, deepEqual(set.spec.template, old.spec.template) ? before : String(BigInt(before) + 1n))
}

const counted = <S extends Templated>(set: S, value: string): S =>
  templateGeneration(set) === value
    ? set
    : { ...set, metadata: { ...set.metadata, annotations: { ...set.metadata.annotations, [ANNOTATION]: value } } }
