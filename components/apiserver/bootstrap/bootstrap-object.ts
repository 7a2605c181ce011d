import { decodeObject } from "../../../pkg/apimachinery/decoding/decode.ts"
import type { KubeObject, Resource } from "../../../pkg/apimachinery/resource.ts"
import { storageKey } from "../cacher/view.ts"

/** An object that the server creates when it starts. `reconcile`, if given, changes one that is stored already. */
export interface Wanted {
  readonly key: string
  readonly resource: Resource
  readonly object: KubeObject
  reconcile?(stored: KubeObject, wanted: KubeObject): KubeObject
  /** The manager in managedFields; the API server unless given. */
  readonly manager?: string
  /** A field that another manager applies, through a subresource if one is named. */
  readonly applied?: Applied
}

export interface Applied {
  readonly manager: string
  readonly field: "status" | "rules"
  readonly subresource?: string
}

/** Returns an object to be created, decoded and with its defaults. */
export function want<T extends KubeObject>(
  resource: Resource<T>,
  object: object,
  reconcile?: (stored: T, wanted: T) => T,
  by: Pick<Wanted, "manager" | "applied"> = {},
): Wanted {
  const decoded = decodeObject(resource, object).object
  return {
    key: storageKey(resource, decoded.metadata),
    resource,
    object: decoded,
    ...(reconcile === undefined ? {} : { reconcile }),
    ...by,
  }
}
