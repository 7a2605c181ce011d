import type { KubeObject } from "../../../../pkg/apimachinery/resource.ts"

/**
 * Returns the name by which an error names an object, which may not have a name yet. Source: apiserver
 * pkg/admission/errors.go.
 */
export const shownName = (name: string, object: KubeObject | undefined): string =>
  name || object?.metadata.name || object?.metadata.generateName || "Unknown"
