import type { KubeObject } from "../../../pkg/apimachinery/resource.ts"
import { decidedBy } from "../authorization/decisions.ts"
import type { MaybePromise } from "../call/maybe-promise.ts"
import type { ApiRequest } from "../call/request.ts"
import type { KindHooks, RegistryContext } from "./context.ts"

/** Checks a write by the rule of its kind, if it has one; in this turn unless rights take time. @throws ApiError */
export function checkWrite(
  { authorizer }: Pick<RegistryContext, "authorizer">,
  hooks: KindHooks | undefined,
  request: ApiRequest,
  object: KubeObject,
  old: KubeObject | undefined,
): MaybePromise<void> {
  if (hooks?.checkWrite === undefined) return undefined
  return decidedBy(authorizer, (decider) => hooks.checkWrite!(request, object, old, decider))
}
