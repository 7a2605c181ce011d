import type { KubeObject } from "../../../../pkg/apimachinery/resource.ts"

/**
 * The name by which a refusal tells of an object, which may not have one yet. Source: apiserver
 * pkg/admission/errors.go.
 */
export const shownName = (name: string, object: KubeObject | undefined): string =>
  name || object?.metadata.name || object?.metadata.generateName || "Unknown"
