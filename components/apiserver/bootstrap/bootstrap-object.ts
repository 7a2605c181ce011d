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
  /** Objects of a kind that have the same form have the same fields, and so the same managedFields. */
  readonly form?: string
  /** Returns the new object with what controllers of the server would add to it at once. */
  complete?(made: KubeObject, now: string): KubeObject
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
  return wantDecoded(resource, decodeObject(resource, object).object, reconcile, by)
}

/** Does the same for an object that decoding would not change: of many, decoding is a tenth of a server's start. */
export function wantDecoded<T extends KubeObject>(
  resource: Resource<T>,
  object: T,
  reconcile?: (stored: T, wanted: T) => T,
  by: Pick<Wanted, "manager" | "applied" | "form"> = {},
): Wanted {
  return {
    key: storageKey(resource, object.metadata),
    resource,
    object,
    ...(reconcile === undefined ? {} : { reconcile }),
    ...by,
  }
}
