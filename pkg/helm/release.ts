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

/** The largest release that is read, in bytes: its Secret has at most a megabyte, packed. */
const MOST_BYTES = 32 * 1024 * 1024
/**
 * The most lists, maps and items of a release that is read. Large charts have some ten thousand, since their templates
 * and manifests are texts; a small Secret of nothing but empty lists would be gigabytes, and seconds of work.
 */
const MOST_PARTS = 200_000

/** Returns the text under `release` in the Secret of a release, before the encoding that all data of Secrets have. */
export const encodeRelease = (release: Release): string =>
  gzipSync(JSON.stringify(release), { level: 9 }).toString("base64")

/** Reads that text. @throws Error */
export function decodeRelease(text: string): Release {
  const bytes = Buffer.from(text, "base64")
  const isPacked = bytes[0] === 0x1f && bytes[1] === 0x8b
  const json = isPacked ? gunzipSync(bytes, { maxOutputLength: MOST_BYTES }) : bytes
  if (hasManyParts(json)) throw new Error(`the release has more than ${MOST_PARTS} parts`)
  return JSON.parse(json.toString("utf8")) as Release
}

const [QUOTE, BACKSLASH] = [0x22, 0x5c]
/** The bytes with which a list, a map and the next item begin: `[`, `{` and `,`. */
const BEGINNINGS: ReadonlySet<number> = new Set([0x5b, 0x7b, 0x2c])

function hasManyParts(json: Uint8Array): boolean {
  let parts = 0
  for (let i = 0; i < json.length; i++) {
    const byte = json[i]!
    if (byte === QUOTE) i = endOfText(json, i)
    else if (BEGINNINGS.has(byte) && ++parts > MOST_PARTS) return true
  }
  return false
}

/** Returns where the quote is that ends a text; the length of the JSON if there is none. */
function endOfText(json: Uint8Array, begin: number): number {
  for (let at = begin + 1; (at = json.indexOf(QUOTE, at)) !== -1; at++) {
    let escapes = 0
    while (json[at - 1 - escapes] === BACKSLASH) escapes++
    if (escapes % 2 === 0) return at
  }
  return json.length
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
