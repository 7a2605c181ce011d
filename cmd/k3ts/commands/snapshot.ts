import { formatTime } from "../../../pkg/apimachinery/scalars/time.ts"
import { realClock } from "../../../pkg/clock/real.ts"
import type { SnapshotSource } from "../../../pkg/snapshot/format.ts"
import { snapshotName } from "../../../pkg/snapshot/names.ts"
import { openS3 } from "../../../pkg/snapshot/open-s3.ts"
import type { S3Store } from "../../../pkg/snapshot/s3-store.ts"
import { withFile } from "../../../pkg/snapshot/sources.ts"
import { prune, type ListedSnapshot, type SnapshotStore } from "../../../pkg/snapshot/store.ts"
import { defineCommand, type CommandGroup } from "../cli/command.ts"
import { boolean, oneOf, value, type FlagsOf } from "../cli/flags.ts"
import { snapshotName as snapshotNameValue } from "../cli/values.ts"
import { defaultNodeName } from "../config/host.ts"
import { configFlag, dataDirFlag, serverFlags } from "../config/server-flags.ts"
import { compressFlag, folderOf, placeFlags, retentionFlag, s3ConfigOf } from "../snapshot/flags.ts"
import { restoreSnapshot } from "../snapshot/restore.ts"
import { takeSnapshot } from "../snapshot/take.ts"
import { table } from "../table.ts"

const placing = { config: configFlag(), "data-dir": dataDirFlag(), ...placeFlags }
const { "node-name": nodeName } = serverFlags
const nameFlag = (summary: string) => value(snapshotNameValue.default("on-demand"), summary, { placeholder: "NAME" })

type Placing = FlagsOf<typeof placing>

/** Runs `use` with the storage of the flags; with undefined without --s3. @throws UsageError */
async function withS3<T>(flags: Placing, use: (s3: S3Store | undefined) => Promise<T>): Promise<T> {
  const config = s3ConfigOf(flags)
  const s3 = config === undefined ? undefined : await openS3(config, realClock)
  try {
    return await use(s3)
  } finally {
    s3?.close()
  }
}

/** Returns the folder, and the storage behind it where there is one. */
const storesOf = (flags: Placing, s3: S3Store | undefined): readonly SnapshotStore[] => [
  folderOf(flags, flags["data-dir"]),
  ...(s3 === undefined ? [] : [s3]),
]

const save = defineCommand({
  summary: "Save a snapshot of the cluster, while its server runs or when it does not",
  details:
    "A snapshot has every object and all that identifies the cluster: its certificate authorities, the key of its " +
    "service accounts, its administrator's token. Who can read it has the cluster.",
  flags: {
    ...placing,
    "node-name": nodeName,
    name: nameFlag("First part of the snapshot's name; node and time follow"),
    "snapshot-compress": compressFlag(),
  },
  run: ({ flags, print }) =>
    withS3(flags, async (s3) => {
      const node = flags["node-name"] ?? defaultNodeName()
      const compression = flags["snapshot-compress"] ? "zstd" : "none"
      const name = snapshotName(flags.name, node, realClock.now(), flags["snapshot-compress"])
      const folder = folderOf(flags, flags["data-dir"])
      const saved = await folder.save(name, takeSnapshot(flags["data-dir"], node, compression))
      print(`${saved.location}\n`)
      if (s3 !== undefined) print(`${await s3.upload(name, folder.pathOf(name))}\n`)
    }),
})

const list = defineCommand({
  summary: "List snapshots, each of which is checked",
  details:
    "Snapshots in a folder are read as a whole, those in S3 only by their index; restore checks both. The exit code is 1 when one " +
    "of them is damaged.",
  flags: { ...placing, output: oneOf(["text", "json"], "text", "Form of the output") },
  run: ({ flags, print }) =>
    withS3(flags, async (s3) => {
      const found = (await Promise.all(storesOf(flags, s3).map((store) => store.list()))).flat()
      if (flags.output === "json") print(`${JSON.stringify(found.map(jsonOf), undefined, 2)}\n`)
      else
        print(
          table(["NAME", "LOCATION", "SIZE", "CREATED", "REVISION", "OBJECTS", "VERSION", "STATE"], found.map(rowOf)),
        )
      return found.some(({ content }) => content instanceof Error) ? 1 : 0
    }),
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
    "The earlier data are kept beside it, as server-old-<time>. The snapshot is a name in the folder of snapshots, or in " +
    "S3 with --s3, or a path. Start the server afterwards; running pods go on.",
  flags: {
    ...placing,
    "replace-cluster": boolean("Restore even if the data directory has another cluster than the snapshot"),
  },
  positionals: { name: "NAME|PATH", min: 1, max: 1 },
  run: ({ flags, args, print }) =>
    withS3(flags, async (s3) => {
      const [wanted = ""] = args
      const restoring = (source: SnapshotSource) =>
        restoreSnapshot(source, {
          dataDir: flags["data-dir"],
          replaceCluster: flags["replace-cluster"],
          now: realClock.now(),
        })
      const { index, revision, old } = await (
        wanted.includes("/")
          ? withFile(wanted, restoring)
          : (s3 ?? folderOf(flags, flags["data-dir"])).open(wanted, restoring)
      ).catch((err: unknown) => {
        throw isMissing(err, wanted) ? new Error(`there is no snapshot ${wanted}: k3ts snapshot list shows them`) : err
      })
      if (old !== undefined) print(`The earlier data are in ${old}\n`)
      print(
        `Restored ${index.objects} objects of ${formatTime(index.time)} into ${flags["data-dir"]}; revisions go on at ` +
          `${revision}. Start the server now\n`,
      )
    }),
})

/** Whether the snapshot itself is not there, in the folder or under its path. */
const isMissing = (err: unknown, wanted: string): boolean => {
  const { code, path = "" } = err as NodeJS.ErrnoException
  return code === "ENOENT" && path.endsWith(wanted)
}

const remove = defineCommand({
  summary: "Delete snapshots",
  flags: placing,
  positionals: { name: "NAME…", min: 1, max: Number.POSITIVE_INFINITY },
  run: ({ flags, args, print }) =>
    withS3(flags, async (s3) => {
      let code = 0
      for (const name of args) {
        const found = await Promise.all(storesOf(flags, s3).map((store) => store.delete(name)))
        if (found.includes(true)) print(`Deleted ${name}\n`)
        else {
          process.stderr.write(`k3ts: there is no snapshot ${name}\n`)
          code = 1
        }
      }
      return code
    }),
})

const pruneCommand = defineCommand({
  summary: "Delete all snapshots of a name but the newest",
  flags: {
    ...placing,
    "node-name": nodeName,
    name: nameFlag("First part of the snapshots' names"),
    "snapshot-retention": retentionFlag("How many to keep; 0 for all"),
    "s3-retention": retentionFlag("How many to keep in S3; 0 for all"),
  },
  run: ({ flags, print }) =>
    withS3(flags, async (s3) => {
      const node = flags["node-name"] ?? defaultNodeName()
      for (const store of storesOf(flags, s3)) {
        const keep = flags[store === s3 ? "s3-retention" : "snapshot-retention"]
        for (const name of await prune(store, { base: flags.name, node, keep })) print(`Deleted ${name}\n`)
      }
    }),
})

const group: CommandGroup = {
  summary: "Save, list and restore snapshots of the cluster",
  commands: { save, list, restore, delete: remove, prune: pruneCommand },
}
export default group
