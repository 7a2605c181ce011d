/** The flags about snapshots, with k3s's names for what it has. Source: k3s pkg/cli/cmds/server.go, etcd_snapshot.go. */
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { fileError } from "../../../pkg/files/files.ts"
import { SnapshotFolder } from "../../../pkg/snapshot/folder.ts"
import type { S3Config } from "../../../pkg/snapshot/s3-client.ts"
import { boolean, value, type FlagsOf } from "../cli/flags.ts"
import { notEmpty } from "../cli/flag-type.ts"
import { UsageError } from "../cli/usage-error.ts"
import * as v from "../cli/values.ts"

const AWS = "s3.amazonaws.com"
const DEFAULT_REGION = "us-east-1"
/** The keys of AWS's programs, which k3s takes too. */
const ACCESS_KEY = "AWS_ACCESS_KEY_ID"
const SECRET_KEY = "AWS_SECRET_ACCESS_KEY"

const text = (placeholder: string, summary: string, note: { variables?: readonly string[]; secret?: boolean } = {}) =>
  value(notEmpty.optional(), summary, { placeholder, ...note })

/** Where snapshots are, for the server and for `k3ts snapshot`. */
export const placeFlags = {
  "snapshot-dir": value(v.filePath.optional(), "Folder of snapshots", {
    placeholder: "DIR",
    path: true,
    defaultText: "snapshots in data-dir",
  }),
  s3: boolean("Keep snapshots in S3-compatible storage, too"),
  "s3-endpoint": value(v.hostAndPort.default(AWS), "Host of the S3 storage, with a port if it is not the default one", {
    placeholder: "HOST[:PORT]",
  }),
  "s3-endpoint-ca": value(v.fileToRead.optional(), "File with the certificate authorities of the S3 storage", {
    placeholder: "FILE",
    path: true,
    defaultText: "those of the system",
  }),
  "s3-skip-ssl-verify": boolean("Do not verify the certificate of the S3 storage"),
  "s3-insecure": boolean("Connect to the S3 storage without TLS"),
  "s3-access-key": text("KEY", "Access key of S3", { variables: [ACCESS_KEY] }),
  "s3-secret-key": text("KEY", "Secret key of S3", { variables: [SECRET_KEY], secret: true }),
  "s3-session-token": text("TOKEN", "Session token of temporary keys of S3", {
    variables: ["AWS_SESSION_TOKEN"],
    secret: true,
  }),
  "s3-bucket": text("NAME", "Bucket in S3"),
  "s3-region": value(notEmpty.default(DEFAULT_REGION), "Region of S3", {
    placeholder: "NAME",
  }),
  "s3-folder": value(v.keyPrefix.default(""), "Folder in the bucket", { placeholder: "PATH", defaultText: "none" }),
  "s3-timeout": value(v.duration.prefault("5m"), "Longest time for one request to S3", {
    placeholder: "DURATION",
    defaultText: "5m",
  }),
}
export type PlaceFlags = FlagsOf<typeof placeFlags>

export const compressFlag = () => boolean("Compress snapshots with zstd", { defaultText: "true" }, true)
export const retentionFlag = (summary: string) =>
  value(v.count.prefault("5"), summary, { placeholder: "COUNT", defaultText: "5" })

/** Flags of the server. */
export const snapshotFlags = {
  "disable-snapshots": boolean("Take no snapshots on a schedule"),
  "snapshot-schedule-cron": value(v.cron.prefault("0 */12 * * *"), "When snapshots are taken, in this machine's time", {
    placeholder: "CRON",
    defaultText: "0 */12 * * *",
  }),
  "snapshot-retention": retentionFlag("How many scheduled snapshots are kept; 0 for all"),
  "snapshot-name": value(
    v.snapshotName.default("snapshot"),
    "First part of the names of scheduled snapshots; node and time follow",
    {
      placeholder: "NAME",
    },
  ),
  "snapshot-compress": compressFlag(),
  ...placeFlags,
  "s3-retention": retentionFlag("How many scheduled snapshots are kept in S3; 0 for all"),
}

/** Returns the folder of snapshots. It is none of the folders that a restore replaces. */
export const folderOf = (flags: Pick<PlaceFlags, "snapshot-dir">, dataDir: string): SnapshotFolder =>
  new SnapshotFolder(flags["snapshot-dir"] ?? join(dataDir, "snapshots"))

/**
 * Returns the settings of the storage; undefined without --s3. @throws UsageError that names the flag that is missing
 */
export function s3ConfigOf(flags: PlaceFlags): S3Config | undefined {
  if (!flags.s3) return undefined
  const bucket = flags["s3-bucket"]
  const { "s3-access-key": accessKey, "s3-secret-key": secretKey } = flags
  if (bucket === undefined) throw new UsageError("--s3 needs --s3-bucket")
  if (accessKey === undefined)
    throw new UsageError(`--s3 needs an access key: --s3-access-key, or the variable ${ACCESS_KEY}`)
  if (secretKey === undefined)
    throw new UsageError(`--s3 needs a secret key: s3-secret-key in the config file, or the variable ${SECRET_KEY}`)
  const region = flags["s3-region"]
  const endpoint = flags["s3-endpoint"]
  return {
    endpoint: endpoint === AWS && region !== DEFAULT_REGION ? `s3.${region}.amazonaws.com` : endpoint,
    region,
    bucket,
    folder: flags["s3-folder"],
    accessKey,
    secretKey,
    sessionToken: flags["s3-session-token"],
    insecure: flags["s3-insecure"],
    skipVerify: flags["s3-skip-ssl-verify"],
    caPem: flags["s3-endpoint-ca"] === undefined ? undefined : textOf(flags["s3-endpoint-ca"]),
    timeoutMs: flags["s3-timeout"] * 1000,
  }
}

function textOf(path: string): string {
  try {
    return readFileSync(path, "utf8")
  } catch (err) {
    throw fileError("read", path, err)
  }
}
