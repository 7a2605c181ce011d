import { formatTime } from "../../../pkg/apimachinery/time.ts"
import { realClock } from "../../../pkg/clock/real.ts"
import { SnapshotFolder } from "../../../pkg/snapshot/folder.ts"
import type { SnapshotSource } from "../../../pkg/snapshot/format.ts"
import { snapshotName } from "../../../pkg/snapshot/names.ts"
import { withFile } from "../../../pkg/snapshot/sources.ts"
import { prune, type ListedSnapshot } from "../../../pkg/snapshot/store.ts"
import { defineCommand, type CommandGroup } from "../cli/command.ts"
import { boolean, oneOf, value } from "../cli/flags.ts"
import { count, snapshotName as snapshotNameValue } from "../cli/values.ts"
import { defaultNodeName } from "../host.ts"
import { snapshotFolder } from "../cluster-config.ts"
import { configFlag, dataDirFlag, serverFlags } from "../server-flags.ts"
import { restoreSnapshot } from "../snapshot/restore.ts"
import { takeSnapshot } from "../snapshot/take.ts"
import { table } from "../table.ts"

const { "snapshot-dir": snapshotDir, "snapshot-compress": snapshotCompress, "node-name": nodeName } = serverFlags
const folderFlags = { config: configFlag(), "data-dir": dataDirFlag(), "snapshot-dir": snapshotDir }
const nameFlag = (summary: string) => value(snapshotNameValue.default("on-demand"), summary, { placeholder: "NAME" })

const folderOf = (flags: Parameters<typeof snapshotFolder>[0]): SnapshotFolder =>
  new SnapshotFolder(snapshotFolder(flags))

const save = defineCommand({
  summary: "Save a snapshot of the cluster, while its server runs or when it does not",
  details:
    "A snapshot has every object and all that identifies the cluster: its certificate authorities, the key of its " +
    "service accounts, its administrator's token. Who can read it has the cluster.",
  flags: {
    ...folderFlags,
    "node-name": nodeName,
    name: nameFlag("First part of the snapshot's name; node and time follow"),
    "snapshot-compress": snapshotCompress,
  },
  async run({ flags, print }) {
    const node = flags["node-name"] ?? defaultNodeName()
    const compression = flags["snapshot-compress"] ? "zstd" : "none"
    const name = snapshotName(flags.name, node, realClock.now(), flags["snapshot-compress"])
    const saved = await folderOf(flags).save(name, takeSnapshot(flags["data-dir"], node, compression))
    print(`${saved.location}\n`)
  },
})

const list = defineCommand({
  summary: "List snapshots, each of which is checked",
  details: "The exit code is 1 when one of them is damaged.",
  flags: { ...folderFlags, output: oneOf(["text", "json"], "text", "Form of the output") },
  async run({ flags, print }) {
    const found = await folderOf(flags).list()
    if (flags.output === "json") print(`${JSON.stringify(found.map(jsonOf), undefined, 2)}\n`)
    else
      print(table(["NAME", "LOCATION", "SIZE", "CREATED", "REVISION", "OBJECTS", "VERSION", "STATE"], found.map(rowOf)))
    return found.some(({ content }) => content instanceof Error) ? 1 : 0
  },
})

const rowOf = ({ name, location, size, content }: ListedSnapshot): readonly string[] =>
  content instanceof Error
    ? [name, location, String(size), "", "", "", "", `damaged: ${content.message}`]
    : [
        name,
        location,
        String(size),
        formatTime(content.time),
        String(content.revision),
        String(content.objects),
        content.version,
        "whole",
      ]

function jsonOf({ name, location, size, content }: ListedSnapshot): object {
  if (content instanceof Error) return { name, location, size, problem: content.message }
  const { blocks: _, ...index } = content
  return { name, location, size, ...index, time: formatTime(content.time) }
}

const restore = defineCommand({
  summary: "Put a snapshot in the place of the data of a stopped server",
  details:
    "What was there is kept beside it, as server-old-<time>. The snapshot is a name in the folder of snapshots, or a " +
    "path. Start the server afterwards; running pods go on.",
  flags: {
    ...folderFlags,
    "replace-cluster": boolean("Restore even if the data directory has another cluster than the snapshot"),
  },
  positionals: { name: "NAME|PATH", min: 1, max: 1 },
  async run({ flags, args, print }) {
    const [wanted = ""] = args
    const restoring = (source: SnapshotSource) =>
      restoreSnapshot(source, {
        dataDir: flags["data-dir"],
        replaceCluster: flags["replace-cluster"],
        now: realClock.now(),
      })
    const { index, revision, old } = await (wanted.includes("/")
      ? withFile(wanted, restoring)
      : folderOf(flags).open(wanted, restoring))
    if (old !== undefined) print(`What was there is in ${old}\n`)
    print(
      `Restored ${index.objects} objects of ${formatTime(index.time)} into ${flags["data-dir"]}; revisions go on at ` +
        `${revision}. Start the server now\n`,
    )
  },
})

const remove = defineCommand({
  summary: "Delete snapshots",
  flags: folderFlags,
  positionals: { name: "NAME…", min: 1, max: Number.POSITIVE_INFINITY },
  async run({ flags, args, print }) {
    const folder = folderOf(flags)
    let code = 0
    for (const name of args)
      if (await folder.delete(name)) print(`Deleted ${name}\n`)
      else {
        process.stderr.write(`k3ts: there is no snapshot ${name}\n`)
        code = 1
      }
    return code
  },
})

const pruneCommand = defineCommand({
  summary: "Delete the oldest snapshots of a name, beyond those that are to be kept",
  flags: {
    ...folderFlags,
    "node-name": nodeName,
    name: nameFlag("First part of the snapshots' names"),
    "snapshot-retention": value(count.prefault("5"), "How many to keep", { placeholder: "COUNT", defaultText: "5" }),
  },
  async run({ flags, print }) {
    const deleted = await prune(folderOf(flags), {
      base: flags.name,
      node: flags["node-name"] ?? defaultNodeName(),
      keep: flags["snapshot-retention"],
    })
    for (const name of deleted) print(`Deleted ${name}\n`)
  },
})

const group: CommandGroup = {
  summary: "Save, list and restore snapshots of the cluster",
  commands: { save, list, restore, delete: remove, prune: pruneCommand },
}
export default group
