import { claimSpecWarnings } from "../persistentvolume/claim-warnings.ts"
import type { VolumeProjection } from "./volume-projected.ts"
import type { Volume } from "./volume.ts"
import { pushAll } from "../../../../lists/push-all.ts"

/** Source: pkg/api/pod/warnings.go. */

/** Warnings about sources that are no longer supported; some have the names of Go fields. */
const DEPRECATED: ReadonlyMap<string, readonly [field: string, deprecation: string]> = new Map<
  keyof Volume,
  readonly [string, string]
>([
  ["photonPersistentDisk", ["photonPersistentDisk", "deprecated in v1.11, non-functional in v1.16+"]],
  ["gitRepo", ["gitRepo", "deprecated in v1.11, and disabled by default in v1.33+"]],
  ["scaleIO", ["scaleIO", "deprecated in v1.16, non-functional in v1.22+"]],
  ["flocker", ["flocker", "deprecated in v1.22, non-functional in v1.25+"]],
  ["storageos", ["storageOS", "deprecated in v1.22, non-functional in v1.25+"]],
  ["quobyte", ["quobyte", "deprecated in v1.22, non-functional in v1.25+"]],
  ["glusterfs", ["glusterfs", "deprecated in v1.25, non-functional in v1.26+"]],
  ["cephfs", ["cephfs", "deprecated in v1.28, non-functional in v1.31+"]],
  ["rbd", ["rbd", "deprecated in v1.28, non-functional in v1.31+"]],
])

/** `path` is the path of the list of volumes. */
export function volumeWarnings(path: string, volumes: readonly Volume[]): readonly string[] {
  const warnings: string[] = []
  for (let i = 0; i < volumes.length; i++) {
    const volume = volumes[i]!
    // A volume has a name and one source, which is less to look for than all those that are no longer supported.
    for (const source in volume) {
      const deprecated = DEPRECATED.get(source)
      if (deprecated !== undefined && volume[source as keyof Volume] !== undefined)
        warnings.push(`${path}[${i}].${deprecated[0]}: ${deprecated[1]}`)
    }
    const claim = volume.ephemeral?.volumeClaimTemplate?.spec
    if (claim !== undefined)
      pushAll(warnings, claimSpecWarnings(`${path}[${i}].ephemeral.volumeClaimTemplate.spec`, claim))
  }
  for (const volume of volumes) if (hasFiles(volume)) pushAll(warnings, fileWarnings(volume))
  return warnings
}

/**
 * Projected sources without a warning. The source with the token is one shared object for all pods, so it is checked
 * once.
 */
const quiet = new WeakSet<object>()

function fileWarnings(volume: Volume): readonly string[] {
  const { projected } = volume
  if (projected === undefined) return overlapWarnings(volume)
  if (quiet.has(projected)) return NO_WARNINGS
  const warnings = overlapWarnings(volume)
  if (warnings.length === 0) quiet.add(projected)
  return warnings
}
const NO_WARNINGS: readonly string[] = []

const hasFiles = ({ configMap, secret, downwardAPI, projected }: Volume): boolean =>
  projected !== undefined ||
  configMap?.items !== undefined ||
  secret?.items !== undefined ||
  downwardAPI?.items !== undefined

/** A file of a projected volume, and its source. */
interface File {
  readonly path: string
  readonly source: string
}

function overlapWarnings({ name, configMap, secret, downwardAPI, projected }: Volume): readonly string[] {
  const overlapping = (what: string, overlaps: readonly string[]) =>
    overlaps.map((overlap) => `volume "${name}" (${what}): overlapping paths: ${overlap}`)
  const of = (items: readonly { readonly path: string }[] = [], source = ""): readonly File[] =>
    items.map(({ path }) => ({ path, source }))
  const empty = (projected?.sources ?? []).filter((source) => Object.keys(source).length === 0)
  return [
    ...(configMap === undefined ? [] : overlapping(`ConfigMap "${configMap.name}"`, overlapsOf(of(configMap.items)))),
    ...(secret === undefined ? [] : overlapping(`Secret "${secret.secretName ?? ""}"`, overlapsOf(of(secret.items)))),
    ...(downwardAPI === undefined ? [] : overlapping("DownwardAPI", overlapsOf(of(downwardAPI.items)))),
    ...empty.map(() => `volume "${name}" (Projected) has no sources provided`),
    ...(projected === undefined
      ? []
      : overlapping("Projected", overlapsOf((projected.sources ?? []).flatMap(filesOf)))),
  ]

  function filesOf({ configMap, secret, downwardAPI, serviceAccountToken }: VolumeProjection): readonly File[] {
    if (configMap?.items !== undefined) return of(configMap.items, `ConfigMap "${configMap.name}"`)
    if (secret?.items !== undefined) return of(secret.items, `Secret "${secret.name}"`)
    if (downwardAPI?.items !== undefined) return of(downwardAPI.items, "DownwardAPI")
    return serviceAccountToken === undefined ? [] : [{ path: serviceAccountToken.path, source: "ServiceAccountToken" }]
  }
}

const shown = ({ path, source }: File): string => `"${path}"${source === "" ? "" : ` (${source})`}`

/** Files can only overlap if the first parts of their paths are equal. Volumes with many files are not checked. */
function haveDistinctTops(files: readonly File[]): boolean {
  if (files.length > 4) return false
  const tops: string[] = []
  for (const file of files) {
    const top = topOf(file)
    if (tops.includes(top)) return false
    tops.push(top)
  }
  return true
}

function topOf({ path }: File): string {
  const slash = path.indexOf("/")
  return slash < 0 ? path : path.slice(0, slash)
}

/** Uses no pattern, which would take quadratic time for a path of slashes. */
function withoutLastSlashes(path: string): string {
  let end = path.length
  while (path[end - 1] === "/") end--
  return path.slice(0, end)
}

/** Returns a warning for each two paths that are equal, or of which one is a folder on the path of the other. */
function overlapsOf(files: readonly File[]): readonly string[] {
  if (haveDistinctTops(files)) return []
  const seen: File[] = []
  const overlaps: string[] = []
  for (const { path, source } of files) {
    const file = { path: withoutLastSlashes(path), source }
    if (file.path !== "")
      for (const other of seen)
        if (
          other.path !== "" &&
          (`${other.path}/`.startsWith(`${file.path}/`) || `${file.path}/`.startsWith(`${other.path}/`))
        )
          overlaps.push(`${shown(file)} with ${shown(other)}`)
    seen.push(file)
  }
  return overlaps
}
