import type { Clock } from "../../../pkg/clock/clock.ts"
import { nextTurn } from "../../../pkg/clock/next-turn.ts"
import type { Storage, Stored } from "../../../pkg/storage/storage.ts"

/**
 * The revisions that one turn of the event loop reads. Each write may come with two values of 16 KiB (larger ones are
 * read when they are used), and all are checked: that is 3 MB at most, which take some milliseconds.
 */
export const revisionsOfTurn = ({ stride = 1 }: Pick<Storage, "stride">): number => WRITES_OF_TURN * stride
const WRITES_OF_TURN = 100

/** One object, or all below a prefix. */
export type Place = { readonly key: string } | { readonly prefix: string }

/**
 * Returns the objects of a place as they were at `revision`, in the order of their keys: what is there now, with each
 * object that was written later replaced by its state before the first of these writes.
 * @throws StorageError compacted
 */
export async function stateAt(
  storage: Storage,
  place: Place,
  revision: number,
  clock: Pick<Clock, "afterTurn">,
): Promise<readonly Stored[]> {
  const before = new Map<string, Stored | undefined>()
  for (let read = revision; ;) {
    const upTo = Math.min(storage.revision, read + revisionsOfTurn(storage))
    for (const { key, type, previous } of storage.between(read, upTo, place))
      if (!before.has(key)) before.set(key, type === "create" ? undefined : previous)
    read = upTo
    // The live objects are read in the turn of the last portion, so that no write comes between the two.
    if (read >= storage.revision) break
    await nextTurn(clock)
  }
  const now = "key" in place ? one(storage.get(place.key)) : storage.list(place.prefix)
  const changed = [...before.values()].filter((stored) => stored !== undefined)
  return [...now.filter(({ key }) => !before.has(key)), ...changed].sort((a, b) => (a.key < b.key ? -1 : 1))
}

const one = (stored: Stored | undefined): readonly Stored[] => (stored === undefined ? [] : [stored])
