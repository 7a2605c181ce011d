import type { KubeObject } from "../apimachinery/resource.ts"

/**
 * Returns a text that changes when somebody edits an object, and not when its status is written: it has the generation
 * where the kind has one, and labels and annotations.
 */
export function editionOf({ metadata }: KubeObject): string {
  const { uid = "", generation, resourceVersion = "", labels = {}, annotations = {} } = metadata
  return JSON.stringify([uid, generation ?? resourceVersion, labels, annotations])
}
