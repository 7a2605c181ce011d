import type { Cause } from "../../../../apimachinery/errors.ts"
import { atKey, invalidValue, required } from "../../../../apimachinery/validation/field-errors.ts"
import type { DefinitionView } from "./definition-view.ts"

const ANNOTATION = "api-approved.kubernetes.io"

/** Whether a group belongs to the Kubernetes community, so that new kinds in it need an approval. */
export const isProtectedGroup = (group: string): boolean => /(?:^|\.)(?:k8s|kubernetes)\.io$/.test(group)

export type Approval = "missing" | "bypassed" | "approved" | "invalid"

/**
 * Returns the state of a definition's approval according to its annotation. Source: apiextensions-apiserver
 * pkg/apihelpers.
 */
export function approvalOf({ metadata }: DefinitionView): Approval {
  const value = metadata.annotations?.[ANNOTATION] ?? ""
  if (value === "") return "missing"
  if (value.startsWith("unapproved")) return "bypassed"
  return /^[a-zA-Z][a-zA-Z0-9+.-]*:\/\/[^/?#\s]+/.test(value) ? "approved" : "invalid"
}

export function approvalFaults(definition: DefinitionView, old: DefinitionView | undefined): readonly Cause[] {
  if (!isProtectedGroup(definition.spec.group)) return []
  const approval = approvalOf(definition)
  if (old !== undefined && approvalOf(old) === approval) return []
  const field = atKey("metadata.annotations", ANNOTATION)
  const needed = `protected groups must have approval annotation "${ANNOTATION}"`
  const see = "see https://github.com/kubernetes/enhancements/pull/1111"
  switch (approval) {
    case "missing":
      return [required(field, `${needed}, ${see}`)]
    case "invalid":
      return [
        invalidValue(
          field,
          definition.metadata.annotations?.[ANNOTATION],
          `${needed} with either a URL or a reason starting with "unapproved", ${see}`,
        ),
      ]
    default:
      return []
  }
}
