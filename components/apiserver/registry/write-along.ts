import { StorageError, type Storage, type Stored, type Write } from "../../../pkg/storage/storage.ts"

/**
 * Writes an object and what belongs to it, all or nothing. Whoever keeps the others mends it where one of those alone
 * could not be written.
 */
export const writeAlong = (storage: Storage, write: Write, others: readonly Write[] | undefined): Promise<Stored> =>
  others === undefined || others.length === 0 ? storage.write(write) : writeTogether(storage, write, others)

async function writeTogether(storage: Storage, write: Write, others: readonly Write[]): Promise<Stored> {
  try {
    const [stored] = await storage.writeAll([write, ...others])
    return stored!
  } catch (err) {
    if (!(err instanceof StorageError) || err.current?.key === write.key) throw err
    return storage.write(write)
  }
}
