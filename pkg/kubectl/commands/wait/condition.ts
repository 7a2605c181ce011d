import type { Unstructured } from "../../rest/json.ts"

/** What an object is waited for to be. */
export type Condition =
  | { readonly type: "create" | "delete" }
  | {
      readonly type: "check"
      /** Whether the object is as it is waited for. @throws Error where that cannot be said */
      isMet(object: Unstructured): boolean
    }
