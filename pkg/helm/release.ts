import { gunzipSync, gzipSync } from "node:zlib"
import type { Chart, ChartFile } from "./chart.ts"
import { plainValues } from "./functions/convert.ts"

export type ReleaseStatus =
  | "deployed"
  | "failed"
  | "superseded"
  | "uninstalled"
  | "uninstalling"
  | "pending-install"
  | "pending-upgrade"
  | "pending-rollback"
  | "unknown"

/** A hook as a release has it. */
export interface StoredHook {
  readonly name: string
  readonly kind: string
  readonly path: string
  readonly manifest: string
  readonly events: readonly string[]
  readonly weight?: number
  readonly delete_policies?: readonly string[]
}

/** A release as Helm stores it. Source: helm.sh/helm/v3/pkg/release/release.go. */
export interface Release {
  readonly name: string
  readonly namespace: string
  readonly version: number
  readonly info: {
    readonly first_deployed: string
    readonly last_deployed: string
    readonly deleted: string
    readonly description: string
    readonly status: ReleaseStatus
    readonly notes?: string
  }
  readonly chart: unknown
  /** The values that were given. */
  readonly config: Readonly<Record<string, unknown>>
  readonly manifest: string
  readonly hooks?: readonly StoredHook[]
}

/** The largest release that is read, in bytes. */
const MOST_BYTES = 64 * 1024 * 1024

/** Returns the text under `release` in the Secret of a release, before the encoding that all data of Secrets have. */
export const encodeRelease = (release: Release): string =>
  gzipSync(JSON.stringify(release), { level: 9 }).toString("base64")

/** Reads that text. @throws Error */
export function decodeRelease(text: string): Release {
  const bytes = Buffer.from(text, "base64")
  const isPacked = bytes[0] === 0x1f && bytes[1] === 0x8b
  const json = isPacked ? gunzipSync(bytes, { maxOutputLength: MOST_BYTES }) : bytes
  return JSON.parse(json.toString("utf8")) as Release
}

/** The type of the Secrets of releases. */
export const RELEASE_TYPE = "helm.sh/release.v1"

export const releaseName = (name: string, version: number): string => `sh.helm.release.v1.${name}.v${version}`

/** Returns a chart as a release has it: without its dependencies, which Helm leaves out too. */
export const storedChart = ({ metadata, templates, values, files, schema }: Chart): unknown => ({
  metadata,
  lock: null,
  templates: templates.map(storedFile),
  values: plainValues(values),
  schema: schema === undefined ? null : Buffer.from(schema).toString("base64"),
  files: files.filter(({ name }) => !name.startsWith("crds/")).map(storedFile),
})

const storedFile = ({ name, data }: ChartFile) => ({ name, data: Buffer.from(data).toString("base64") })
