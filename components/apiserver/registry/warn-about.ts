import type { KubeObject } from "../../../pkg/apimachinery/resource.ts"
import type { ApiRequest } from "../call/request.ts"

/**
 * Tells the client what an object that is taken should not say. Nothing is worked out for components that do not hear
 * it.
 */
export function warnAbout(
  { resource, warn, inProcess }: ApiRequest,
  object: KubeObject,
  old: KubeObject | undefined,
): void {
  if (inProcess !== true) for (const text of resource.warnings?.(object, old) ?? []) warn(text)
}
