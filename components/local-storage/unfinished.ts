import { mkdir, readdir, rm, rmdir, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { PersistentVolume } from "../../pkg/api/core/v1/persistentvolume/persistentvolume.ts"
import { PersistentVolumeClaim } from "../../pkg/api/core/v1/persistentvolume/persistentvolumeclaim.ts"
import { isNotFound } from "../../pkg/apimachinery/errors.ts"
import type { Client } from "../../pkg/client/client.ts"
import type { Logger } from "../../pkg/log/log.ts"
import { FOLDER_MODE, type Folders } from "./folders.ts"

/** No folder of a volume has this name: theirs begin with the name of the volume. */
const NOTES = ".unfinished"
const MOST_TRIES = 10

/**
 * Notes the folders that are made for volumes which the API does not have yet. A process that ends in between leaves
 * the note, by which the next one finds a folder of a claim that was deleted meanwhile.
 */
export class Unfinished {
  readonly #notes: string

  constructor(root: string) {
    this.#notes = join(root, NOTES)
  }

  async begin(folder: string): Promise<void> {
    for (let tries = 1; ; tries++)
      try {
        await mkdir(this.#notes, { recursive: true, mode: FOLDER_MODE })
        return await writeFile(join(this.#notes, folder), "")
      } catch (err) {
        // The end of another volume may have removed the empty folder of notes in between.
        if ((err as NodeJS.ErrnoException).code !== "ENOENT" || tries === MOST_TRIES) throw err
      }
  }

  async end(folder: string): Promise<void> {
    await rm(join(this.#notes, folder), { force: true })
    // The last one removes the folder of notes, so that nothing is left in the folder of volumes.
    await rmdir(this.#notes).catch(() => undefined)
  }

  async all(): Promise<readonly string[]> {
    return readdir(this.#notes).catch((err: NodeJS.ErrnoException) => {
      if (err.code === "ENOENT") return []
      throw err
    })
  }
}

/** Returns the name of a volume's folder, as k3s's provisioner has it. */
export const folderOf = (volume: string, claim: PersistentVolumeClaim["metadata"]): string =>
  `${volume}_${claim.namespace}_${claim.name}`

/** Removes the folders that an earlier process has left for claims that are gone. A failure leaves the rest. */
export async function removeUnfinished(
  root: string,
  {
    unfinished,
    folders,
    client,
    log,
  }: {
    readonly unfinished: Unfinished
    readonly folders: Pick<Folders, "remove">
    readonly client: Pick<Client, "get">
    readonly log: Logger
  },
): Promise<void> {
  for (const folder of await unfinished.all())
    try {
      const [volume = "", namespace, name] = folder.split("_")
      const made = await client.get(PersistentVolume, { name: volume }).catch(noneIfNotFound)
      if (made === undefined) {
        const claim = await client.get(PersistentVolumeClaim, { namespace, name }).catch(noneIfNotFound)
        // The volume of a claim that is still there is made again, with the same folder.
        if (claim !== undefined && volume === `pvc-${claim.metadata.uid}`) continue
        await folders.remove(join(root, folder))
        log.info("Removed the folder of a volume that was never finished", { folder })
      }
      await unfinished.end(folder)
    } catch (err) {
      log.warn("Failed to look after a volume that was not finished", { folder, err })
    }
}

function noneIfNotFound(err: unknown): undefined {
  if (!isNotFound(err)) throw err
}
