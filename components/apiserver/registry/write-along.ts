import { StorageError, type Storage, type Stored, type Write } from "../../../pkg/storage/storage.ts"
import { isRace } from "../store/is-race.ts"

/**
 * What belongs to an object could not be written with it, because another server that shares the store has written it
 * for another object: both servers have chosen the same address. The object must be made anew.
 */
export class CompanionTakenError extends Error {
  override readonly name = "CompanionTakenError"
}

/**
 * Writes an object and what belongs to it, all or nothing. If only a companion cannot be written, the object is written
 * alone; the controller that owns the companion creates it later.
 * @throws CompanionTakenError where servers share the store and a companion to be created exists
 */
export const writeAlong = (storage: Storage, write: Write, others: readonly Write[] | undefined): Promise<Stored> =>
  others === undefined || others.length === 0 ? storage.write(write) : writeTogether(storage, write, others)

async function writeTogether(storage: Storage, write: Write, others: readonly Write[]): Promise<Stored> {
  try {
    const [stored] = await storage.writeAll([write, ...others])
    return stored!
  } catch (err) {
    if (!(err instanceof StorageError) || err.current?.key === write.key) throw err
    if (storage.freshen !== undefined) {
      if (err.code === "exists") throw new CompanionTakenError(err.message, { cause: err })
      if (!isRace(err)) throw err
    }
    return storage.write(write)
  }
}
