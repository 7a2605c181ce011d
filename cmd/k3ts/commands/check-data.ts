import { existsSync } from "node:fs"
import { join } from "node:path"
import { loadEncryption } from "../../../components/apiserver/encryption/load.ts"
import { databaseFile } from "../../../components/apiserver/store/database-file.ts"
import { systemRandom } from "../../../pkg/clock/random.ts"
import { realClock } from "../../../pkg/clock/real.ts"
import { silent } from "../../../pkg/log/log.ts"
import type { SetAside } from "../../../pkg/quarantine/record.ts"
import { checkStore, type StoreReport } from "../../../pkg/storage/sqlite/check.ts"
import { setAsideOn } from "./quarantine.ts"
import { defineCommand } from "../cli/command.ts"
import { oneOf } from "../cli/flags.ts"
import { findServer } from "../process/pid-file.ts"
import { serverFlags } from "../config/server-flags.ts"

const { config, "data-dir": dataDir, "encryption-provider-config": providerConfig } = serverFlags

const WHOLE = 0
const NOT_WHOLE = 1
const NOT_CHECKED = 3

export default defineCommand({
  summary: "Check whether a cluster's stored data are whole, while no server runs on them",
  details:
    "Reads all that is stored, the history too, and changes nothing. The exit code is 0 when it is whole, 1 " +
    "when something is damaged or missing, and 3 when it cannot be checked: a server runs on it, or there is " +
    "no database.",
  flags: {
    config,
    "data-dir": dataDir,
    "encryption-provider-config": providerConfig,
    output: oneOf(["text", "json"], "text", "Form of the output"),
  },
  async run({ flags, print }) {
    const file = databaseFile(flags["data-dir"])
    const running = findServer(flags["data-dir"])
    const obstacle =
      running !== undefined
        ? `a k3ts server runs on ${flags["data-dir"]} (pid ${running.pid}); stop it, or check a copy of the directory`
        : existsSync(file)
          ? undefined
          : `there is no ${file}; name the directory of a cluster with --data-dir`
    const report = obstacle === undefined ? await checked(file, flags) : undefined
    const setAside = knownAside(flags["data-dir"])
    if (flags.output === "json")
      print(`${JSON.stringify({ ok: isWhole(report), file, obstacle, ...report, setAside }, undefined, 2)}\n`)
    else if (report === undefined) print(`not checked: ${obstacle}\n`)
    else print(textOf(file, report))
    if (flags.output === "text")
      for (const { place, key, why } of setAside) print(`set aside: ${place} skips ${key}, because ${why}\n`)
    return report === undefined ? NOT_CHECKED : isWhole(report) ? WHOLE : NOT_WHOLE
  },
})

/** Returns what is set aside; nothing where its record cannot be read, as it is no part of the stored data. */
function knownAside(dataDir: string): readonly SetAside[] {
  try {
    return setAsideOn(dataDir)
  } catch {
    return []
  }
}

/** Checks the store, with the keys of encrypted values. */
async function checked(
  file: string,
  flags: { readonly "data-dir": string; readonly "encryption-provider-config"?: string | undefined },
): Promise<StoreReport> {
  const loaded = await loadEncryption(
    join(flags["data-dir"], "server"),
    { secrets: false, provider: "secretbox", file: flags["encryption-provider-config"] },
    { clock: realClock, random: systemRandom, log: silent },
  )
  const { transformer, plugins } = loaded ?? { transformer: undefined, plugins: [] }
  try {
    const report = checkStore(file, transformer)
    if (plugins.length === 0) return report
    // The first look has told the plugins which keys there are.
    await Promise.all(plugins.map((plugin) => plugin.learn()))
    return checkStore(file, transformer)
  } finally {
    for (const plugin of plugins) plugin.close()
  }
}

const isWhole = (report: StoreReport | undefined): boolean => report?.problems.length === 0

function textOf(file: string, { problems, objects, rows, sealed, revision, bytes }: StoreReport): string {
  const size =
    `${objects} objects and ${rows - objects} earlier states and deletions at revision ${revision}, ` +
    `${(bytes / 2 ** 20).toFixed(1)} MiB${sealed === 0 ? "" : `, ${sealed} of them encrypted`}`
  if (problems.length === 0) return `whole: ${file} (${size})\n`
  return (
    `${problems.map((problem) => `damaged: ${problem}`).join("\n")}\n\n${size}\nmend: restore ${file} and the ` +
    "files beside it from a backup\n"
  )
}
