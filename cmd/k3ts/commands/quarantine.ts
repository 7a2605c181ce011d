import { quarantineFolder, readRecord, writeRecord } from "../../../pkg/quarantine/quarantine-files.ts"
import type { SetAside } from "../../../pkg/quarantine/record.ts"
import { defineCommand, type CommandGroup } from "../cli/command.ts"
import { boolean, oneOf, value } from "../cli/flags.ts"
import { anyText } from "../cli/flag-type.ts"
import { UsageError } from "../cli/usage-error.ts"
import { configFlag, dataDirFlag } from "../config/server-flags.ts"
import { table } from "../table.ts"

/** The folders of the records of a data directory: of its server, and of its agent. */
const foldersOf = (dataDir: string): readonly string[] =>
  (["server", "agent"] as const).map((of) => quarantineFolder(dataDir, of))

/** Returns what is set aside on a data directory. @throws Error where that cannot be read */
export const setAsideOn = (dataDir: string): readonly SetAside[] =>
  foldersOf(dataDir).flatMap((folder) => readRecord(folder).setAside)

const list = defineCommand({
  summary: "Show what is skipped since it has ended the server twice, or kept it from everything else",
  flags: {
    config: configFlag(),
    "data-dir": dataDirFlag(),
    output: oneOf(["text", "json"], "text", "Form of the output"),
  },
  run({ flags, print }) {
    const all = setAsideOn(flags["data-dir"])
    if (flags.output === "json") print(`${JSON.stringify(all, undefined, 2)}\n`)
    else if (all.length === 0) print("Nothing is set aside\n")
    else
      print(
        table(
          ["Place", "Key", "Since", "Why"],
          all.map(({ place, key, since, why }) => [place, key, since, why]),
        ),
      )
    return Promise.resolve(0)
  },
})

const free = defineCommand({
  summary: "Have what was set aside tried again, at once where the server runs",
  flags: {
    config: configFlag(),
    "data-dir": dataDirFlag(),
    place: value(anyText.optional(), "The place, as k3ts quarantine list shows it", { placeholder: "PLACE" }),
    key: value(anyText.optional(), "The key, as k3ts quarantine list shows it", { placeholder: "KEY" }),
    all: boolean("Everything"),
  },
  run({ flags, print }) {
    const { place, key, all, "data-dir": dataDir } = flags
    if (all === (key !== undefined)) throw new UsageError("name what to free by --key (and --place), or give --all")
    const isMeant = (one: SetAside) => all || (one.key === key && (place === undefined || one.place === place))
    const freed = setAsideOn(dataDir).filter(isMeant)
    if (freed.length === 0) throw new Error("nothing like that is set aside; k3ts quarantine list shows what is")
    for (const folder of foldersOf(dataDir)) {
      const record = readRecord(folder)
      const setAside = record.setAside.filter((one) => !isMeant(one))
      if (setAside.length < record.setAside.length) writeRecord(folder, { ...record, setAside })
    }
    print(freed.map((one) => `Freed ${one.key} (${one.place})\n`).join(""))
    return Promise.resolve(0)
  },
})

const group: CommandGroup = {
  summary: "What k3ts skips because it has ended the server",
  commands: { list, free },
}
export default group
