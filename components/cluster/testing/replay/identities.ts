import type { ObjectMeta } from "../../../../pkg/apimachinery/meta.ts"
import type { KubeObject } from "../../../../pkg/apimachinery/resource.ts"
import { prefixOf } from "./keys.ts"

/** Kinds whose names end with a hash of a template, which is another one where the recording has other names. */
const HASHED = ["/registry/apps/replicasets/", "/registry/apps/controllerrevisions/"]

/** The names and UIDs of what was created in a recording. */
export class RecordedIdentities {
  /** Names that were generated, by kind, namespace and the beginning of the name, in their order. */
  readonly #names = new Map<string, string[]>()
  /** Names that end with a hash, by kind, namespace and owner, in their order. */
  readonly #hashed = new Map<string, string[]>()
  /** The UIDs of objects by their keys, in the order of their creation. */
  readonly #uids = new Map<string, string[]>()

  /** Notes what a controller has created in the recording. */
  note(key: string, { metadata }: KubeObject): void {
    const { uid, name = "" } = metadata
    if ((metadata.generateName ?? "") !== "") push(this.#names, placeOf(key, metadata), name)
    if (HASHED.includes(prefixOf(key))) push(this.#hashed, ownedPlaceOf(key, metadata), name)
    if (uid !== undefined) push(this.#uids, key, uid)
  }

  /** Returns name and UID for an object that is created now: the next recorded ones, or its own. */
  of(
    key: string,
    { metadata }: KubeObject,
    isTaken: (name: string) => boolean,
  ): { readonly name: string | undefined; readonly uid: string | undefined } {
    const { generateName = "", name = "" } = metadata
    const isGenerated = generateName !== "" && name.startsWith(generateName)
    const names = isGenerated ? this.#names.get(placeOf(key, metadata)) : this.#hashedNames(key, metadata)
    while (names !== undefined && names.length > 0 && isTaken(names[0]!)) names.shift()
    const given = names?.shift() ?? metadata.name
    const recordedKey = key.slice(0, key.length - name.length) + (given ?? "")
    return { name: given, uid: this.#uids.get(recordedKey)?.shift() ?? metadata.uid }
  }

  /** Returns the recorded names of which an object gets one whose own name is not among them. */
  #hashedNames(key: string, metadata: ObjectMeta): string[] | undefined {
    if (!HASHED.includes(prefixOf(key))) return undefined
    const names = this.#hashed.get(ownedPlaceOf(key, metadata))
    const index = names?.indexOf(metadata.name ?? "") ?? -1
    if (index === -1) return names
    names!.splice(index, 1)
    return undefined
  }
}

const ownedPlaceOf = (key: string, { namespace = "", ownerReferences = [] }: ObjectMeta): string =>
  JSON.stringify([prefixOf(key), namespace, ownerReferences[0]?.uid])

const placeOf = (key: string, { namespace = "", generateName = "" }: ObjectMeta): string =>
  JSON.stringify([prefixOf(key), namespace, generateName])

function push(lists: Map<string, string[]>, key: string, item: string): void {
  const list = lists.get(key)
  if (list === undefined) lists.set(key, [item])
  else list.push(item)
}
