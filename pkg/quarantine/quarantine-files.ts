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

/** Returns what a folder records; nothing where the file is missing or damaged: it is no reason not to start. */
export function readRecord(folder: string): QuarantineRecord {
  try {
    const text = readIfExists(recordFile(folder))
    return text === undefined
      ? NOTHING_RECORDED
      : { ...NOTHING_RECORDED, ...(JSON.parse(text) as Partial<QuarantineRecord>) }
  } catch {
    return NOTHING_RECORDED
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
    const before = readRecord(folder)
    mkdirSync(folder, { recursive: true, mode: MODE })
    const quarantine = new Quarantine({
      page: sharedPage(pageFile(folder), PAGE_BYTES),
      before,
      boot: readIfExists(BOOT_ID)?.trim() ?? "",
      save: (record) => writeRecord(folder, record),
      clock,
      log: log.child({ component: "quarantine" }),
    })
    // `k3ts quarantine free` changes the file.
    const end = watchFolder(folder, () => quarantine.reread(readRecord(folder)), { clock, mode: MODE })
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
