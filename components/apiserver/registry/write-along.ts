import { StorageError, type Storage, type Stored, type Write } from "../../../pkg/storage/storage.ts"
import { isRace } from "../store/is-race.ts"

/**
 * What belongs to an object could not be written with it, because another server that shares the store has changed it
 * meanwhile: both servers have chosen the same address, or counted the same quota. The object must be made anew.
 */
export class CompanionTakenError extends Error {
  override readonly name = "CompanionTakenError"
}

/** Joins the writes that two places add to a transaction. */
export const together = (
  some: readonly Write[] | undefined,
  others: readonly Write[] | undefined,
): readonly Write[] | undefined =>
  some === undefined || others === undefined || others.length === 0 ? (some ?? others) : [...some, ...others]

/**
 * Writes an object and what belongs to it, all or nothing. If only a companion cannot be written, the object is written
 * alone; the controller that owns the companion creates it later.
 * @throws CompanionTakenError where servers share the store and a companion is not as expected
 */
export const writeAlong = (storage: Storage, write: Write, others: readonly Write[] | undefined): Promise<Stored> =>
  others === undefined || others.length === 0 ? storage.write(write) : writeTogether(storage, write, others)

async function writeTogether(storage: Storage, write: Write, others: readonly Write[]): Promise<Stored> {
  try {
    const [stored] = await storage.writeAll([write, ...others])
    return stored!
  } catch (err) {
    if (!(err instanceof StorageError) || err.current?.key === write.key) throw err
    if (storage.freshen === undefined) return storage.write(write)
    if (!isRace(err)) throw err
    throw new CompanionTakenError(err.message, { cause: err })
  }
}
