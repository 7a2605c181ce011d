import type { LeaseCandidate } from "../../../pkg/api/coordination/v1beta1/leasecandidate.ts"
import { parseTime } from "../../../pkg/apimachinery/scalars/time.ts"
import { compareVersions, parseVersion, type SemanticVersion } from "../../../pkg/semver/semver.ts"

/** How long a candidate counts that has not said that it is there. Source: leaseCandidateValidDuration. */
export const VALID_MS = 30 * 60_000

/** Returns the milliseconds of a time; undefined for none. */
export const millis = (time: string | undefined): number | undefined =>
  time === undefined ? undefined : parseTime(time)

/** Returns until when a candidate counts; one that has never said that it is there does not. */
export const validUntil = ({ spec }: LeaseCandidate): number => (millis(spec.renewTime) ?? -Infinity) + VALID_MS

const ZERO: SemanticVersion = { numbers: [0n, 0n, 0n], identifiers: [] }

/** A candidate with its versions read: a version can be long, and each is compared with many. */
interface Versions {
  readonly candidate: LeaseCandidate
  /** Undefined where the candidate has none. */
  readonly emulated: SemanticVersion | undefined
  readonly binary: SemanticVersion | undefined
}

const versionsOf = (candidate: LeaseCandidate): Versions => ({
  candidate,
  emulated: parseVersion(candidate.spec.emulationVersion ?? ""),
  binary: parseVersion(candidate.spec.binaryVersion),
})

/**
 * Returns the candidate that behaves as the oldest version, of these the one whose program is the oldest, of these the
 * one that was there first; undefined where none has versions. Source: pickBestLeaderOldestEmulationVersion.
 */
export function oldestVersion(candidates: readonly LeaseCandidate[]): LeaseCandidate | undefined {
  let oldest: Versions | undefined
  for (const one of candidates.map(versionsOf))
    if (one.emulated !== undefined && one.binary !== undefined && (oldest === undefined || isOlder(one, oldest)))
      oldest = one
  return oldest?.candidate
}

function isOlder(a: Versions, b: Versions): boolean {
  const order =
    compareVersions(a.emulated ?? ZERO, b.emulated ?? ZERO) || compareVersions(a.binary ?? ZERO, b.binary ?? ZERO)
  const since = ({ candidate }: Versions) => candidate.metadata.creationTimestamp ?? ""
  return order === 0 ? since(a) < since(b) : order < 0
}

/**
 * Returns the strategy of the candidate with the newest program, which need not have a version. Source:
 * pickBestStrategy. @throws Error where there is none, or two of the newest want different ones
 */
export function strategyOf(candidates: readonly LeaseCandidate[]): string {
  const all = candidates.map((candidate) => ({
    ...candidate,
    version: parseVersion(candidate.spec.binaryVersion) ?? ZERO,
  }))
  const newest = all.reduce((best, one) => (compareVersions(best.version, one.version) < 0 ? one : best))
  const other = all.find(
    (one) => one.spec.strategy !== newest.spec.strategy && compareVersions(one.version, newest.version) === 0,
  )
  if (other === undefined) return newest.spec.strategy ?? ""
  throw new Error(
    `candidates ${JSON.stringify(newest.metadata.name)}, ${JSON.stringify(other.metadata.name)} at same binary version ` +
      `but received differing strategies ${newest.spec.strategy}, ${other.spec.strategy}`,
  )
}
