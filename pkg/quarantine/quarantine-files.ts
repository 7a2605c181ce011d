/** Where the record of what is set aside lies: two files of a folder of the data directory. */
import { mkdirSync, rmdirSync, rmSync } from "node:fs"
import { dirname, join } from "node:path"
import type { Clock } from "../clock/clock.ts"
import { readIfExists, replaceFile } from "../files/files.ts"
import type { Logger } from "../log/log.ts"
import { watchFolder } from "../process/watch-folder.ts"
import { sharedPage } from "../runtime/shared-page.ts"
import { PAGE_BYTES } from "./in-hand.ts"
import { Quarantine } from "./quarantine.ts"
import { NOTHING_RECORDED, type QuarantineRecord } from "./record.ts"

const MODE = 0o700
const BOOT_ID = "/proc/sys/kernel/random/boot_id"
const recordFile = (folder: string): string => join(folder, "record.json")
const pageFile = (folder: string): string => join(folder, "in-hand")

/** Returns the folder of the record, for a server or for an agent. A snapshot of a server has none of it. */
export const quarantineFolder = (dataDir: string, of: "server" | "agent"): string => join(dataDir, "quarantine", of)

/** Returns what a folder records; nothing where the file is missing. @throws Error where it is damaged or closed to us */
export function readRecord(folder: string): QuarantineRecord {
  const text = readIfExists(recordFile(folder))
  if (text === undefined) return NOTHING_RECORDED
  try {
    return { ...NOTHING_RECORDED, ...(JSON.parse(text) as Partial<QuarantineRecord>) }
  } catch (err) {
    throw new Error(`Cannot read ${recordFile(folder)}: it is no JSON; remove it`, { cause: err })
  }
}

/** The same, or undefined where it cannot be read. */
function recordIn(folder: string): QuarantineRecord | undefined {
  try {
    return readRecord(folder)
  } catch {
    return undefined
  }
}

export function writeRecord(folder: string, record: QuarantineRecord): void {
  mkdirSync(folder, { recursive: true, mode: MODE })
  replaceFile(recordFile(folder), `${JSON.stringify(record, undefined, 2)}\n`, { mode: 0o600 })
}

export interface OpenQuarantine {
  readonly quarantine: Quarantine
  /** Records that the process ends in order, and leaves nothing where nothing is set aside. */
  close(): void
}

/** Opens the record for this process. Undefined, with a warning, where that is not possible: the cluster does without. */
export function openQuarantine(
  folder: string,
  { clock, log }: { clock: Clock; log: Logger },
): OpenQuarantine | undefined {
  try {
    // A damaged record is no reason not to start.
    const before = recordIn(folder) ?? NOTHING_RECORDED
    mkdirSync(folder, { recursive: true, mode: MODE })
    const quarantine = new Quarantine({
      page: sharedPage(pageFile(folder), PAGE_BYTES),
      before,
      boot: readIfExists(BOOT_ID)?.trim() ?? "",
      save: (record) => writeRecord(folder, record),
      clock,
      log: log.child({ component: "quarantine" }),
    })
    // `k3ts quarantine free` changes the file. A file that cannot be read just now frees nothing.
    const reread = () => {
      const record = recordIn(folder)
      if (record !== undefined) quarantine.reread(record)
    }
    const end = watchFolder(folder, reread, { clock, mode: MODE })
    return {
      quarantine,
      close() {
        end()
        quarantine.end()
        removeIfNothing(folder)
      },
    }
  } catch (err) {
    log.warn("Cannot note what is worked on: an object that ends the process would do so at each start", {
      folder,
      err,
    })
    return undefined
  }
}

function removeIfNothing(folder: string): void {
  try {
    rmSync(pageFile(folder), { force: true })
    const { setAside, suspects, slow, tooSlow } = readRecord(folder)
    if ([setAside, suspects, slow, tooSlow].some((items) => items.length > 0)) return
    rmSync(recordFile(folder), { force: true })
    rmdirSync(folder)
    rmdirSync(dirname(folder))
  } catch {
    // What stays is overwritten by the next start.
  }
}
