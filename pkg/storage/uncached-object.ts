import type { KubeObject } from "../apimachinery/resource.ts"
import type { Stored } from "./storage.ts"
import { StoredObject, type Identity, type ParseObject } from "./stored-object.ts"

/** How the value of an object is made of its JSON. */
export interface Parsing {
  readonly parse: ParseObject | undefined
  readonly frozen: boolean
}

/**
 * A seldom-read object whose content is read anew at each use, so that a list of thousands takes little memory.
 */
export abstract class UncachedObject implements Stored, Identity {
  readonly key: string
  readonly revision: number
  readonly created: number
  readonly time: number

  constructor({ key, revision, created, time }: Omit<Identity, "seldomRead">) {
    this.key = key
    this.revision = revision
    this.created = created
    this.time = time
  }

  get seldomRead(): boolean {
    return true
  }
  get object(): KubeObject {
    const { parse, frozen } = this.parsing
    return new StoredObject(this, { json: this.json, parse }, frozen).object
  }

  abstract get json(): Uint8Array
  protected abstract get parsing(): Parsing
}
